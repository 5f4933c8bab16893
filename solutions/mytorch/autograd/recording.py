"""Recording: a layer of the dispatcher that leaves a node behind each differentiable call.

A derivative is a formula made of operations. What it names is what the node keeps: `g` is the gradient of
the result; the other names are the operation's parameters, its `result`, or the shape, type or device of a
parameter (`x_shape`, `x_dtype`, `x_device`).

    derivative("mul", x=lambda g, y: g * y, y=lambda g, x: g * x)
"""

# 06 · The computation graph
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch import Function, Operation, layer, tensors_in
from ..tensor import Tensor
from ..views import run_write
from .node import Mode, Node, attach, detach, edge_of

DERIVATIVES: dict[str, dict[str, tuple[Function, list[str]]]] = {}
"""By operation and parameter: the formula, and the names of what it needs besides `g`."""


def derivative(operation: str, **formulas: Function) -> None:
    """Declare the derivatives of an operation: a formula for each parameter that has one."""
    DERIVATIVES[operation] = {
        parameter: (formula, list(inspect.signature(formula).parameters)[1:]) for parameter, formula in formulas.items()
    }


class Kept:
    """A tensor that a node keeps for the backward pass.

    A result is kept without its history: it would keep its node alive, and the node the result.
    """

    def __init__(self, x: Tensor, is_result: bool) -> None:
        self.tensor = detach(x) if is_result else x
        self.is_result = is_result

    def give_back(self, node: Node) -> Tensor:
        """The tensor, with its history."""
        if not self.is_result:
            return self.tensor
        result = detach(self.tensor)
        result.grad_fn = node
        return result


def refuse(op: Operation, args: tuple[Any, ...], below: Function) -> Tensor:
    """What happens when a tensor with a history is written to, until chapter 07 knows better."""
    raise RuntimeError("a tensor that autograd watches is being used in an in-place operation")


class Rules:
    """What chapter 07 replaces by something better."""

    kept: Callable[[Tensor, bool], Kept] = Kept
    write: Callable[[Operation, tuple[Any, ...], Function], Tensor] = staticmethod(refuse)


@layer
def record(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run the operation below; if a tensor among `args` requires a gradient, leave an `OperationNode` behind.

    Nothing is recorded while `Mode.enabled` is False, nor for results that are no floating-point numbers.
    Writes (`op.run is run_write`) are left to `Rules.write(op, args, below)`.
    """
    if not Mode.enabled or not any(x.requires_grad for x in tensors_in(args)):
        return below(op, args)
    if op.run is run_write:
        return Rules.write(op, args, below)
    result = below(op, args)
    if result.is_floating_point():
        attach([result], OperationNode(op, args, result))
    return result


RELEASED = object()
"""Stands where a kept tensor was."""


class OperationNode(Node):
    """The node of an operation: its formulas, and the values that they name.

    `inputs` lists, for each parameter that holds tensors, its name, how many there are, and whether one
    requires a gradient. There is an edge for each of these tensors, in this order.
    """

    def __init__(self, op: Operation, args: tuple[Any, ...], result: Tensor) -> None:
        arguments = dict(zip(op.parameters, args, strict=True))
        tensors = {name: tensors_in((value,)) for name, value in arguments.items()}
        super().__init__(node_name(op.name), [edge_of(x) for group in tensors.values() for x in group])
        self.inputs = [
            (name, len(group), any(x.requires_grad for x in group)) for name, group in tensors.items() if group
        ]
        self.formulas = formulas_of(op, [name for name, _, needed in self.inputs if needed])
        self.values: dict[str, Any] = {}
        for name in {name for _, names in self.formulas.values() for name in names}:
            value = result if name == "result" else value_named(name, arguments)
            self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """The formulas' gradients, one for each edge; None where no gradient is needed, or none has come.

        Of a parameter that holds several tensors, such as that of `cat`, the formula gives a list.
        """
        (g,) = grads
        found: list[Tensor | None] = []
        for name, number, needed in self.inputs:
            if g is None or not needed:
                found += [None] * number
                continue
            formula, names = self.formulas[name]
            grad = formula(g, *(self.value(each) for each in names))
            found += grad if isinstance(grad, list) else [grad]
        return found

    def value(self, name: str) -> Any:
        """What a formula calls by this name.

        Raises:
            RuntimeError: it is a tensor, and an earlier pass has released it.
        """
        value = self.values[name]
        if value is RELEASED:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            )
        return value.give_back(self) if isinstance(value, Kept) else value

    def release(self) -> None:
        """Forget the tensors. A node that keeps none can run again."""
        self.values = {name: RELEASED if isinstance(value, Kept) else value for name, value in self.values.items()}


def formulas_of(op: Operation, parameters: list[str]) -> dict[str, tuple[Function, list[str]]]:
    """The formulas of the parameters that need a gradient.

    Raises:
        NotImplementedError: one has none.
    """
    formulas = DERIVATIVES.get(op.name, {})
    if not set(parameters) <= set(formulas):
        raise NotImplementedError(f"the derivative for '{op.name}' is not implemented")
    return {name: formulas[name] for name in parameters}


def value_named(name: str, arguments: dict[str, Any]) -> Any:
    """A parameter's argument, or its shape, type or device: `x`, `x_shape`, `x_dtype`, `x_device`.

    Of a parameter that holds several tensors, a list of their shapes.
    """
    if name in arguments:
        return arguments[name]
    parameter, _, attribute = name.rpartition("_")
    holder = arguments[parameter]
    if isinstance(holder, (list, tuple)):
        return [getattr(each, attribute) for each in holder]
    return getattr(holder, attribute, () if attribute == "shape" else None)  # a number has no shape


def node_name(operation: str) -> str:
    """What PyTorch calls the node of an operation: `MulBackward0`, `Log1PBackward0`, `ToCopyBackward0`."""
    return operation.title().replace("_", "") + "Backward0"
