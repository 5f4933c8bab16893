"""Recording: a layer that leaves a node behind each differentiable call, with what its formulas name besides `g`."""

# 06 · The computation graph
from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from ..dispatch import Function, Operation, layer, parameters_of, tensors_in
from ..tensor import Tensor
from .node import Edge, Mode, Node, attach, detach, edge_of

requires_grad = attrgetter("requires_grad")

DERIVATIVES: dict[str, dict[str, tuple[Function, tuple[str, ...]]]] = {}
"""By operation and parameter: the formula, and the names of what it needs besides `g`."""


def derivative(operation: str, **formulas: Function) -> None:
    """Declare the derivatives of an operation: a formula for each parameter that has one."""
    DERIVATIVES[operation] = {name: (formula, parameters_of(formula)[1:]) for name, formula in formulas.items()}


class Kept:
    """A tensor that a node keeps for the backward pass, and the version that its storage has then."""

    def __init__(self, x: Tensor, is_result: bool) -> None:
        self.tensor = detach(x) if is_result else x  # a result with its history would keep its own node alive
        self.is_result, self.number, self.version = is_result, x.output_nr, x.storage.version

    def give_back(self, node: Node) -> Tensor:
        """The tensor, with its history."""
        if not self.is_result:
            return self.tensor
        result = detach(self.tensor)
        result.node = node
        return result


class Rules:
    """How a node keeps a tensor, and what a write to a tensor with a history does. Chapter 07 replaces both."""

    kept = Kept

    @staticmethod
    def write(op: Operation, args: tuple[Any, ...], below: Function) -> Tensor:
        """Refuse to write to a tensor with a history."""
        raise NotImplementedError("a tensor that autograd watches is being used in an in-place operation")


@layer("record")
def record(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run the operation below; if a tensor among `args` requires a gradient, leave an `OperationNode` behind."""
    if not (Mode.enabled and any(map(requires_grad, tensors_in(args)))):
        return below(op, args)
    if op.writes:
        return Rules.write(op, args, below)
    result = below(op, args)
    if result.dtype.is_floating_point:
        attach([result], OperationNode(op, args, result))
    return result


RELEASED = object()
"""Stands where a kept tensor was."""


class OperationNode(Node):
    """The node of an operation: its formulas, the values they name, and an edge for each tensor among its inputs."""

    def __init__(self, op: Operation, args: tuple[Any, ...], result: Tensor) -> None:
        edges: list[Edge | None] = []
        super().__init__(op.name, edges)
        self.inputs: list[tuple[str, int, bool]] = []  # a parameter, its number of tensors, whether one requires grad
        self.formulas = DERIVATIVES.get(op.name, {})
        self.values: dict[str, Any] = {}
        known = dict(zip(op.parameters, args, strict=True), result=result)
        for name, argument in zip(op.parameters, args, strict=True):
            found = list(map(edge_of, tensors_in([argument])))
            if found:
                edges += found
                self.inputs.append((name, len(found), any(found)))
                if any(found):
                    self.keep(name, known)

    def keep(self, parameter: str, known: dict[str, Any]) -> None:
        """Keep what the formula of a parameter names: of `known`, by name, or an attribute of these."""
        if parameter not in self.formulas:
            raise NotImplementedError(f"the derivative for '{self._name}' is not implemented")
        for name in self.formulas[parameter][1]:
            value = known[name] if name in known else attribute_named(name, known)
            self.values[name] = Rules.kept(value, name == "result") if isinstance(value, Tensor) else value

    def name(self) -> str:
        """What PyTorch calls the node: `MulBackward0`, `Log1PBackward0`, `ToCopyBackward0`."""
        return node_name(self._name)

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """The formulas' gradients, one for each edge; None where no gradient is needed, or none has come."""
        (g,) = grads
        found: list[Tensor | None] = []
        for name, number, needed in self.inputs:
            if g is None or not needed:
                found += [None] * number
                continue
            formula, names = self.formulas[name]
            grad = formula(g, *[self.value(each) for each in names])
            found += grad if isinstance(grad, list) else [grad]
        return found

    def value(self, name: str) -> Any:
        """What a formula calls by this name."""
        value = self.values[name]
        if value is RELEASED:
            raise already_released()
        return value.give_back(self) if isinstance(value, Kept) else value

    def release(self) -> None:
        """Forget the tensors. A node that keeps none can run again."""
        self.values = {name: RELEASED if isinstance(value, Kept) else value for name, value in self.values.items()}


def already_released() -> RuntimeError:
    """A kept tensor is asked for, and an earlier pass has released it."""
    tried = "Trying to backward through the graph a second time (or directly access saved tensors after they have"
    freed = "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad()."
    advice = "Specify retain_graph=True if you need to backward through the graph a second time or if you need to"
    return RuntimeError(f"{tried} already been freed). {freed} {advice} access saved tensors after calling backward.")


def attribute_named(name: str, arguments: dict[str, Any]) -> Any:
    """Shape, type or device of an argument, `x_shape`, `x_dtype`, `x_device`; of several tensors, a list of these."""
    parameter, _, attribute = name.rpartition("_")
    holder = arguments[parameter]
    if isinstance(holder, (list, tuple)):
        return [getattr(each, attribute) for each in holder]
    return getattr(holder, attribute, () if attribute == "shape" else None)  # a number has no shape


def node_name(operation: str) -> str:
    """What PyTorch calls the node of an operation."""
    return operation.title().replace("_", "") + "Backward0"
