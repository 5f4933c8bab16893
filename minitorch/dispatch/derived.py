"""Derivatives that autograd finds itself, by a backward pass through a formula written with tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.grad_mode import enable_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.passes import grad
from minitorch.dispatch.formulas import Formula, parameters_of
from minitorch.tensor import Tensor


def gradients(
    function: Callable[..., Any], args: Sequence[Any], wanted: Sequence[int], grads: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The gradients with respect to the arguments at the positions `wanted`, where `grads` are those of the results of
    `function(*args)`; None for an argument on which no result depends. They are recorded if the running pass is.
    """
    recorded, args = grad_mode.enabled, list(args)
    with enable_grad():
        for position in wanted:
            each = args[position]  # an alias, since the argument itself may be in the history of another one
            args[position] = each.view_as(each) if recorded else each.detach().requires_grad_()
        found = function(*args)
        pairs = zip(found if isinstance(found, tuple) else (found,), grads, strict=False)
        given = [(each, of) for each, of in pairs if of is not None and each.requires_grad]
        if not given:
            return [None] * len(wanted)
        outputs, weights = zip(*given, strict=True)
        sources = [args[position] for position in wanted]
        return list(grad(outputs, sources, weights, create_graph=recorded, allow_unused=True))


class _Derived:
    """The gradients of a formula with respect to some of its parameters."""

    def __init__(self, inputs: Sequence[str], formula: Formula, zeros: bool) -> None:
        names = parameters_of(formula)
        self.formula, self.zeros = formula, zeros
        self.parameters = ("grads", "output_mask", *names)
        self.inputs = [names.index(name) for name in inputs]

    def __call__(
        self, grads: Sequence[Tensor | None], output_mask: Sequence[bool], *values: Any
    ) -> tuple[Tensor | None, ...]:
        wanted = [position for position, needed in zip(self.inputs, output_mask, strict=True) if needed]
        found = dict(zip(wanted, gradients(self.formula, values, wanted, grads), strict=True))
        for position, gradient in found.items():
            if gradient is None and self.zeros:
                found[position] = values[position].new_zeros(values[position].shape)
        return tuple([found.get(position) for position in self.inputs])


def derived(inputs: str, formula: Callable[..., Any], zeros: bool = False) -> dict[str, Formula]:
    """The derivatives of an op with respect to these `inputs`. The formula computes with tensors what the op's kernel
    computes with arrays, and its parameters are those of the op that it needs. With `zeros`, an input on which the
    results don't depend gets a gradient of zeros, as from PyTorch's written formulas; otherwise it gets none.
    """
    return {inputs: _Derived([name.strip() for name in inputs.split(",")], formula, zeros)}
