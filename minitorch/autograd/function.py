"""Ops that users define: a forward, and a backward that computes the gradients of its inputs.

Source: https://pytorch.org/docs/stable/notes/extending.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.inplace import check_writable, rebase_history
from minitorch.autograd.node import Gradients, Node, gradient_edge
from minitorch.autograd.saved import FREED, SavedTensor
from minitorch.tensor import Tensor


class FunctionCtx(Node):
    """The `ctx` of a Function: what forward hands to backward. It is the node in the graph at the same time."""

    _function: type[Function]
    _to_save: tuple[Tensor | None, ...] = ()
    _saved: list[SavedTensor | None] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()
    """For each argument of `apply`, whether backward has to compute its gradient."""

    def __init__(self, function: type[Function], args: tuple[Any, ...]) -> None:
        self._function = function
        self._args_are_tensors = tuple(isinstance(each, Tensor) for each in args)
        self.needs_input_grad = tuple(isinstance(each, Tensor) and each.requires_grad for each in args)
        super().__init__([gradient_edge(each) for each in args if isinstance(each, Tensor)], ())

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs or outputs for backward, guarded by their version counters. Call it once."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs forward wrote to in place; they must be returned too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient reaches backward as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept. Raises RuntimeError when it was modified since, or freed."""
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(None if each is None else each.unpack(self) for each in self._saved)

    def name(self) -> str:
        return f"{self._function.__name__}Backward"

    def apply(self, grads: Gradients) -> Gradients:
        if self._materialize:
            from minitorch.ops.creation import zeros

            grads = [
                zeros(shape, dtype=dtype) if grad is None else grad
                for grad, (shape, dtype) in zip(grads, self.outputs, strict=True)
            ]
        results = self._function.backward(self, *grads)
        results = results if isinstance(results, tuple) else (results,)
        surplus = results[len(self._args_are_tensors) :]
        if len(results) < len(self._args_are_tensors) or any(each is not None for each in surplus):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{len(self._args_are_tensors)}, got {len(results)})"
            )
        for number, (result, is_tensor) in enumerate(zip(results, self._args_are_tensors, strict=False)):
            if result is not None and not is_tensor:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {number + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return [result for result, is_tensor in zip(results, self._args_are_tensors, strict=False) if is_tensor]

    def release(self) -> None:
        self._saved = None


class Function:
    """Subclass it with static methods `forward` and `backward`, and call `apply`.

    Either `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`.
    `backward(ctx, *grad_outputs)` returns a gradient for each argument, None where there is none.
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward without recording its inside, and records this function as one node."""
        ctx = FunctionCtx(cls, args)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        outputs = result if isinstance(result, tuple) else (result,)
        wrapped = tuple(_output(each, ctx, args) if isinstance(each, Tensor) else each for each in outputs)
        if grad_mode.enabled and any(ctx.needs_input_grad):
            _record(ctx, wrapped, {id(new): old for new, old in zip(wrapped, outputs, strict=True)})
        return wrapped if isinstance(result, tuple) else wrapped[0]


def _output(output: Tensor, ctx: FunctionCtx, args: tuple[Any, ...]) -> Tensor:
    """An input that forward returned as it came must not be overwritten with the new history: it gets an alias."""
    is_input = any(output is each for each in args)
    is_dirty = any(output is each for each in ctx._dirty)
    return output._alias() if is_input and not is_dirty else output


def _record(ctx: FunctionCtx, outputs: tuple[Any, ...], originals: dict[int, Any]) -> None:
    tensors = [each for each in outputs if isinstance(each, Tensor)]
    ctx.outputs = [(each._array.shape, each._dtype) for each in tensors]
    for number, output in enumerate(tensors):
        if not output._dtype.is_differentiable or any(
            originals[id(output)] is each for each in ctx._non_differentiable
        ):
            continue
        if any(output is each for each in ctx._dirty):
            check_writable(output)
            output._bump_version()
            rebase_history(output, ctx)
        else:
            output._grad_fn, output._requires_grad = ctx, True
        output._output_nr = number
    made = {id(originals[id(each)]): each for each in tensors}
    ctx._saved = [
        None if each is None else SavedTensor(made.get(id(each), each), id(each) in made) for each in ctx._to_save
    ]
    ctx._to_save = ()


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a backward whose own operations are not to be differentiated: a second derivative raises RuntimeError."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        if not grad_mode.enabled or not any(isinstance(each, Tensor) and each.requires_grad for each in grads):
            return results
        outputs = results if isinstance(results, tuple) else (results,)
        guarded = tuple(_not_twice(each) if isinstance(each, Tensor) else each for each in outputs)
        return guarded if isinstance(results, tuple) else guarded[0]

    return wrapper


class _NotTwice(Node):
    def apply(self, grads: Gradients) -> Gradients:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _not_twice(tensor: Tensor) -> Tensor:
    alias = tensor._alias()
    alias._grad_fn = _NotTwice((), ((alias._array.shape, alias._dtype),))
    alias._requires_grad = True
    return alias
