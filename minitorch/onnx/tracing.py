"""A module as the list of the ops that it calls: it runs once, on example inputs, and each op is noted.

What Python decides is decided by the example. A tensor that comes from no input, such as a weight, is a constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch.layers import Below, pushed
from minitorch.dispatch.op import Op
from minitorch.dispatch.overriding import disabled
from minitorch.dtypes import dtype
from minitorch.jit import TracerWarning
from minitorch.onnx.errors import OnnxExporterError
from minitorch.tensor import Tensor


class TracedValue:
    """The result of a call, or an input: what is known of it before any numbers are.

    A length of `shape` is an int, or an `Open` where it differs from trace to trace.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.shape: tuple[Any, ...] = tuple(tensor.shape)
        self.dtype: dtype = tensor.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class TracedCall:
    """An op, its arguments with a `TracedValue` where a traced tensor was, and its results."""

    def __init__(self, op: str, args: tuple[Any, ...], outputs: list[TracedValue]) -> None:
        self.op, self.args, self.outputs = op, args, outputs


class Trace:
    """What a module did: its inputs, its calls, and its outputs, which are Values, or tensors that are constants."""

    def __init__(self, inputs: list[TracedValue], calls: list[TracedCall], outputs: list[Any]) -> None:
        self.inputs, self.calls, self.outputs = inputs, calls, outputs


def changed(argument: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with `change(each)` in the place of each thing in it; lists and (named) tuples stay what they are."""
    if isinstance(argument, tuple) and hasattr(argument, "_fields"):
        return type(argument)(*(changed(each, change) for each in argument))
    if isinstance(argument, (list, tuple)):
        return (list if isinstance(argument, list) else tuple)(changed(each, change) for each in argument)
    return change(argument)


def values_in(argument: Any) -> list[TracedValue]:
    """The Values in an argument."""
    found: list[TracedValue] = []
    changed(argument, lambda each: found.append(each) if isinstance(each, TracedValue) else None)
    return found


class Traced(Tensor):
    """A tensor inside a trace. It notices when Python asks for its numbers, which no graph can hold."""

    __slots__ = ()
    __torch_function__: Any = classmethod(disabled)

    def item(self) -> Any:
        """The only element as a Python number, after `asked` has allowed it."""
        asked("number")
        return super().item()

    def tolist(self) -> Any:
        """The elements as Python numbers, after `asked` has allowed it."""
        asked("list")
        return super().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """An array, after `asked` has allowed it."""
        asked("NumPy array")
        return super().numpy(force=force)

    def __bool__(self) -> bool:
        asked("boolean")
        with warnings.catch_warnings(action="ignore", category=TracerWarning):
            return super().__bool__()


class _TraceState:
    """Whether the trace that is under way refuses what it can't record, or warns of it."""

    strict = True


def asked(what: str) -> None:
    """A tensor's numbers leave the graph: raise OnnxExporterError in a strict trace, in others warn."""
    if _TraceState.strict:
        raise OnnxExporterError(
            "Failed to export the model with torch.export. Could not guard on data-dependent expression: the program "
            f"asks a tensor for its value, as a Python {what}."
        )
    warnings.warn(
        f"Converting a tensor to a Python {what} might cause the trace to be incorrect. We can't record the data flow "
        "of Python values, so this value will be treated as a constant in the future. This means that the trace might "
        "not generalize to other inputs!",
        TracerWarning,
        stacklevel=3,
    )


class TraceLayer:
    """The layer of a trace."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.calls: list[TracedCall] = []
        self.known: dict[Any, TracedValue] = {}
        self.written: set[int] = set()  # memory of which a part was overwritten by traced numbers
        self.alive: list[Tensor] = []  # memory that is freed could be given to another tensor
        self.inputs = [self.know(each) for each in inputs]

    def know(self, tensor: Tensor) -> TracedValue:
        """Note that this tensor is a value of the trace."""
        value = self.known[_key(tensor)] = TracedValue(tensor)
        self.alive.append(tensor)
        tensor.__class__ = Traced
        return value

    def seen(self, argument: Any) -> Any:
        """The `TracedValue` of a traced tensor; anything else as it is."""
        if not isinstance(argument, Tensor):
            return argument
        key = _key(argument)
        if key not in self.known and key[0] in self.written:
            raise OnnxExporterError("a tensor of which a part was overwritten can't be exported")
        return self.known.get(key, argument)

    def __call__(self, op: Op, args: Sequence[Any], below: Below) -> Any:
        """Run an op, and note the call if one of its arguments is traced."""
        args = (*args, *op.schema.defaults_from[len(args)])
        noted = changed(args, self.seen)
        if not values_in(noted):
            return below(op, args)
        result = below(op, args)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if results[0] is args[0]:
            self.forget(results[0])
        self.calls.append(TracedCall(op.name, noted, [self.know(each) for each in results]))
        return result

    def forget(self, target: Tensor) -> None:
        """An op has written to this tensor: what else is known of its memory doesn't hold any more."""
        memory = _key(target)[0]
        self.written.add(memory)
        self.known = {key: value for key, value in self.known.items() if key[0] != memory}


def _key(tensor: Tensor) -> tuple[Any, ...]:
    """What tells whether two tensors show the same numbers."""
    memory = Tensor.untyped_storage(tensor).data_ptr()
    return memory, Tensor.storage_offset(tensor), tuple(tensor.shape), Tensor.stride(tensor), tensor.dtype


def trace(run: Callable[[], Any], inputs: Sequence[Tensor], strict: bool) -> tuple[Trace, Any]:
    """Call a function once, and note the ops that depend on the inputs. The trace, and what the function returned.

    With `strict`, a question for a traced tensor's numbers raises OnnxExporterError, else it warns.
    """
    recorder = TraceLayer(inputs)
    _TraceState.strict = strict
    with pushed(recorder):
        result = run()
    outputs: list[Any] = []
    _collect(result, outputs)
    return Trace(recorder.inputs, recorder.calls, [recorder.seen(each) for each in outputs]), result


def _collect(result: Any, found: list[Any]) -> None:
    """The tensors of a module's result, in order."""
    if isinstance(result, Tensor):
        found.append(result)
    elif isinstance(result, (list, tuple)):
        for each in result:
            _collect(each, found)
    elif isinstance(result, dict):
        _collect(list(result.values()), found)
    elif result is not None:
        raise OnnxExporterError(f"a module's output of type {type(result).__name__} can't be exported")
