"""Compiled functions: which graph serves a call, and when another is captured.

Source: torch/_dynamo/convert_frame.py
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

from minitorch._dynamo import config, logs
from minitorch._dynamo.capture import Captured, capture
from minitorch._dynamo.exc import FailOnRecompileLimitHit, Unsupported
from minitorch.arrays import gpus
from minitorch.autograd.anomaly_mode import anomaly
from minitorch.autograd.grad_mode import set_grad_enabled
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.saved import PUSHED
from minitorch.devices import cpu, get_default_device
from minitorch.dispatch import autocast, layers
from minitorch.dtypes import get_default_dtype
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.random import get_rng_state, set_rng_state
from minitorch.tensor import Tensor

log = logging.getLogger("torch._dynamo.convert_frame")
Backend = Callable[[Any, list[Any]], Callable[..., Any]]
_capturing = threading.RLock()


def is_ordinary() -> bool:
    """Whether nothing watches or changes operations: no layer, autocast, hook of saved tensors, anomaly mode or GPU."""
    return not (
        (layers.count and layers.stack.layers)
        or autocast.state.enabled
        or PUSHED
        or anomaly.enabled
        or gpus.in_use
        or get_default_device() is not cpu
    )


def ambient() -> tuple[Any, ...]:
    """The modes that decide what operations do."""
    return grad_mode.enabled, grad_mode.asked, grad_mode.inference, get_default_dtype()


class Entry:
    """A graph with its guards, or the decision that a call which they fit runs eagerly."""

    def __init__(self, found: Captured, run: Callable[..., Any] | None) -> None:
        self.found, self.run = found, run
        self.ambient = ambient()
        self.check = found.guards.check()
        names = ", ".join(f"{each}" for each in found.inputs)
        text = f"def gathered(L, F):\n    return ({names}{',' if names else ''})\n"
        scope = dict(found.guards.constants)
        exec(compile(text, "<inputs>", "exec"), scope)
        self.gathered: Callable[..., tuple[Any, ...]] = scope["gathered"]


class Compiled:
    """A function or module with the graphs that have been captured of it.

    Args:
        function: a Python function, a method of one, or a module.
        backend: makes a graph module and its example inputs a function.
        fullgraph: whether a function that can't be captured raises Unsupported.
        dynamic: whether sizes are symbols from the first graph on (True), never (False), or when they change (None).
        eager: what runs where no graph does, if not the function.
    """

    def __init__(
        self,
        function: Any,
        backend: Backend,
        fullgraph: bool = False,
        dynamic: bool | None = None,
        eager: Callable[..., Any] | None = None,
    ) -> None:
        self.eager = function if eager is None else eager
        self.function, self.backend, self.fullgraph, self.dynamic = function, backend, fullgraph, dynamic
        self.entries: list[Entry] = []
        self._dims: dict[str, set[int]] = {}
        self._symbols: set[str] = set()
        self._last: Mapping[str, Any] | None = None
        source = type(function).forward if isinstance(function, Module) else getattr(function, "__func__", function)
        self.source = source if type(source) is FunctionType else None
        self._signature = inspect.signature(source) if self.source is not None else None
        self._owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
        self._names = _positional(self.source)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, computed by a graph that fits the call, which is captured if there is none."""
        if self.source is None or config.disable or not is_ordinary():
            return self.eager(*args, **kwargs)
        arguments = self._arguments(args, kwargs)
        if arguments is None:
            return self.eager(*args, **kwargs)  # which raises the error
        now = ambient()
        for entry in self.entries:
            if entry.ambient == now and entry.check(arguments, self.function):
                break
        else:
            added = self._captured(arguments)
            if added is None:
                return self.eager(*args, **kwargs)
            entry = added
        if entry.run is None:
            return self.eager(*args, **kwargs)
        outputs = entry.run(*entry.gathered(arguments, self.function))
        return entry.found.build(outputs, arguments, self.function)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments by the names of the function's variables; None if they don't fit."""
        if self._owner is not None:
            args = (self._owner, *args)
        if self._names is not None and not kwargs and len(args) == len(self._names):
            return dict(zip(self._names, args, strict=True))
        assert self._signature is not None
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return None
        bound.apply_defaults()
        return bound.arguments

    def _captured(self, arguments: Mapping[str, Any]) -> Entry | None:
        """A new entry, or None where there are too many of them."""
        with _capturing:
            name = getattr(self.source, "__qualname__", "")
            if self.entries:
                reason = self.entries[-1].found.guards.failed(arguments, self.function)
                if len(self.entries) >= config.recompile_limit:
                    self._limit(reason)
                    return None
                logs.recompile(self.source, len(self.entries), reason)
                self._learn(arguments)
            dims, symbols = self._symbolic(arguments)
            found = capture(self.function, arguments, dims, symbols)
            self._last = dict(arguments)
            if found.reason is not None:
                logs.graph_break(found)
                if self.fullgraph:
                    raise Unsupported(f"{found.reason}\n\nfrom user code:\n   {found.where}")
            logs.guards(found, name)
            entry = Entry(found, self._compiled(found))
            self.entries.append(entry)
            return entry

    def _compiled(self, found: Captured) -> Callable[..., Any] | None:
        if found.reason is not None:
            return None
        if found.module is None:  # the outputs, if any, are inputs
            assert found.graph is not None
            inputs = [each for each in found.graph.nodes if each.op == "placeholder"]
            places = [inputs.index(each) for each in found.graph.output_node().args[0]]
            return lambda *args: [args[place] for place in places]
        logs.graph(found.module)
        random = get_rng_state()
        run = self.backend(found.module, found.examples)
        set_rng_state(random)
        if any(each.target is set_grad_enabled for each in found.module.graph.nodes):
            return restoring(run)
        return run

    def _limit(self, reason: str) -> None:
        code = self.source.__code__ if self.source is not None else None
        text = (
            f"torch._dynamo hit config.recompile_limit ({config.recompile_limit})\n"
            f"   function: '{code.co_name if code else ''}' ({code.co_filename if code else ''}:"
            f"{code.co_firstlineno if code else 0})\n"
            f"   last reason: 0/{len(self.entries) - 1}: {reason}\n"
            'To log all recompilation reasons, use TORCH_LOGS="recompiles".'
        )
        if self.fullgraph:
            raise FailOnRecompileLimitHit(text)
        log.warning(text)

    def __reduce__(self) -> Any:
        return _nothing, ()  # a copy of a module that was compiled in place is not compiled, as in PyTorch

    def forget(self) -> None:
        """Forgets all graphs, and which sizes have changed."""
        self.entries.clear()
        self._dims.clear()
        self._symbols.clear()
        self._last = None

    # Sizes that change

    def _learn(self, arguments: Mapping[str, Any]) -> None:
        """Makes symbols of the sizes and integers that differ from those of the last capture."""
        if self._last is None or self.dynamic is False or not config.automatic_dynamic_shapes:
            return
        before, now = _leaves(self._last), _leaves(arguments)
        for source, value in now.items():
            other = before.get(source)
            if isinstance(value, Tensor) and isinstance(other, Tensor) and value.ndim == other.ndim:
                changed = {dim for dim in range(value.ndim) if value.shape[dim] != other.shape[dim]}
                self._dims.setdefault(source, set()).update(changed)
            elif type(value) is int and type(other) is int and value != other:
                self._symbols.add(source)

    def _symbolic(self, arguments: Mapping[str, Any]) -> tuple[dict[str, set[int]], set[str]]:
        """The dimensions and integers that are symbols in the next capture. 0 and 1 never are."""
        dims = {source: set(each) for source, each in self._dims.items()}
        symbols = set(self._symbols)
        for source, value in _leaves(arguments).items():
            if isinstance(value, Tensor):
                asked = set(range(value.ndim)) if self.dynamic and not isinstance(value, Parameter) else set()
                asked |= getattr(value, "_dynamo_dynamic_indices", set())
                dims.setdefault(source, set()).update(asked)
                dims[source] = {dim for dim in dims[source] if dim < value.ndim and value.shape[dim] > 1}
            elif self.dynamic and type(value) is int:
                symbols.add(source)
        return {source: each for source, each in dims.items() if each}, symbols


def restoring(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function after which the grad mode is what it was, also where an operation fails in a `no_grad` block."""

    def restored(*args: Any) -> Any:
        before = grad_mode.asked
        try:
            return run(*args)
        finally:
            grad_mode.set(before, grad_mode.inference)

    return restored


def _positional(function: FunctionType | None) -> tuple[str, ...] | None:
    """The names of the parameters of a function that takes all by position, without defaults; else None."""
    if function is None or function.__defaults__ or function.__code__.co_kwonlyargcount:
        return None
    code = function.__code__
    starred = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return None if starred else code.co_varnames[: code.co_argcount]


def _nothing() -> None:
    return None


def _leaves(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors and integers among arguments, by their sources."""
    found: dict[str, Any] = {}

    def add(value: Any, source: str) -> None:
        if isinstance(value, Tensor) or type(value) is int:
            found[source] = value
        elif type(value) in (tuple, list):
            for place, each in enumerate(value):
                add(each, f"{source}[{place}]")
        elif type(value) is dict:
            for key, each in value.items():
                add(each, f"{source}[{key!r}]")

    for name, value in arguments.items():
        add(value, f"L[{name!r}]")
    return found


def can_be_captured(function: Any) -> bool:
    """Whether something has Python code that capture can read."""
    return isinstance(function, (FunctionType, MethodType, Module))
