"""Functions made of several ops that are one op to autograd, as they are in PyTorch.

Their node saves the arguments instead of intermediate results, and runs the function again in the backward pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch import autocast
from minitorch.dispatch.apply import record
from minitorch.dispatch.batched import Batched
from minitorch.dispatch.derived import gradients
from minitorch.dispatch.formulas import Formula
from minitorch.dispatch.op import Op
from minitorch.tensor import Tensor, make_tensor


def one_node(
    node: str | Callable[..., str],
    inputs: str,
    saves: str = "",
    outputs: Callable[..., Any] | None = None,
    differentiable: int | None = None,
    derivatives: Formula | None = None,
) -> Callable[[Any], Any]:
    """Makes a function of tensors one op, whose node has this name and sends gradients to these `inputs`.

    `saves` names the results that PyTorch's node saves, "result" or "result0 result1": a backward pass raises an error
    after one of them was modified. `outputs` combines several outputs, the first `differentiable` of which have
    gradients. `derivatives` is the formula of the gradients, if the function shouldn't run again for them.
    """

    def generate(function: FunctionType) -> Any:
        again = Again(inputs, saves)
        again.op = op = Op(function, {inputs: derivatives or again}, node=node, outputs=outputs)

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            bound = op.schema.bind(args, kwargs)
            if any(isinstance(each, Batched) for each in bound):
                return op.kernel(*bound)
            mask = sum(1 << i for i in op.schema.tensors if isinstance(bound[i], Tensor) and bound[i].requires_grad)
            with no_grad():
                result = op.kernel(*bound)
            results = result if isinstance(result, tuple) else (result,)
            # A result that is a view of an intermediate one becomes a tensor of its own.
            found = [make_tensor(each._elements, each._dtype, each._device) for each in results]
            if mask and grad_mode.enabled:
                record(op, bound, found[:differentiable], mask)
            return found[0] if results is not result else tuple(found) if outputs is None else outputs(*found)

        return recorded

    return generate


class Again:
    """The derivatives of such a function, which runs again, recorded, for a backward pass through its ops."""

    op: Op

    def __init__(self, inputs: str, saves: str) -> None:
        self.inputs, self.saves = [name.strip() for name in inputs.split(",")], saves.split()

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the formula needs, in the place of the parameters of a written formula."""
        return (*self.op.schema.parameters, "grads", "output_mask", *self.saves)

    def __call__(self, *values: Any) -> Any:
        args, (grads, mask) = (
            list(values[: self.op.schema.count]),
            values[self.op.schema.count : self.op.schema.count + 2],
        )
        positions = [self.op.schema.positions[name] for name in self.inputs]
        wanted = [position for position, needed in zip(positions, mask, strict=True) if needed]
        with autocast.switched_off():
            results = iter(gradients(self.op.kernel, args, wanted, grads))
        found = tuple([next(results) if needed else None for needed in mask])
        return found if len(found) > 1 else found[0]
