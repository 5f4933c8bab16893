"""What an op's formulas need: worked out from the names of their parameters, and from which inputs need gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitorch.ops.declaration import Op

Formula = Callable[..., Any]

NUMBER_IS_PARAMETER = frozenset({"pow", "lerp", "clamp", "clamp_min", "clamp_max", "MulBackward1", "DivBackward1"})
"""Ops, or nodes of ops, to which a number is no operand: PyTorch makes no tensor of it."""

NOT_IMPLEMENTED = "torch::autograd::NotImplemented"
"""The name of nodes that only say that there is no derivative."""

# Where a formula's parameter comes from.
ARGUMENT, SHAPE, STRIDE, DTYPE, RESULT, GRAD, GRADS, MASK = range(8)
_METADATA = {"shape": SHAPE, "stride": STRIDE, "dtype": DTYPE}
_SAVED = (ARGUMENT, SHAPE, STRIDE, DTYPE, RESULT)


class Derivative:
    """A formula, the inputs whose gradients it computes, and where its parameters come from."""

    __slots__ = ("formula", "inputs", "mask", "sources")

    def __init__(self, op: Op, inputs: str, formula: Formula) -> None:
        self.inputs = tuple(op.positions[name.strip()] for name in inputs.split(","))
        self.mask = sum(1 << position for position in self.inputs)
        self.formula = formula
        self.sources = tuple(_source(op, name) for name in parameters_of(formula))


def parameters_of(formula: Formula) -> tuple[str, ...]:
    """The names of a formula's parameters."""
    if isinstance(formula, FunctionType):
        return formula.__code__.co_varnames[: formula.__code__.co_argcount]
    names: tuple[str, ...] = formula.parameters  # type: ignore[attr-defined]
    return names


def _source(op: Op, name: str) -> tuple[int, int]:
    special = {"grad": (GRAD, 0), "grads": (GRADS, 0), "result": (RESULT, 0), "output_mask": (MASK, 0)}
    if name in op.positions:
        return ARGUMENT, op.positions[name]
    if name in special:
        return special[name]
    stem, _, suffix = name.rpartition("_")
    if stem in op.positions and suffix in _METADATA:
        return _METADATA[suffix], op.positions[stem]
    if name.startswith("result") and name[6:].isdigit():
        return RESULT, int(name[6:])
    raise TypeError(f"the derivative of {op.name} asks for {name!r}, which it is not a parameter or an output of it")


class Plan:
    """The formulas to run for one set of inputs that need gradients, and the values to save for them, each once.

    What is saved for one input's gradient alone, PyTorch saves only if this input needs one; everything else always.
    """

    __slots__ = (
        *("calls", "edges", "inputs", "kept", "may_save_number"),
        *("node", "others", "plain", "saved", "saves_tensors"),
    )

    def __init__(self, op: Op, mask: int, args: Sequence[Any]) -> None:
        from minitorch.autograd.attributes import node_class

        name = op.node_name(*args) if callable(op.node_name) else op.node_name
        positions = [i for i in op.differentiable if _is_input(op, name, i, args, mask)]
        derivatives = [each for each in op.derivatives or () if any(i in positions for i in each.inputs)]
        if name == NOT_IMPLEMENTED:
            derivatives = [Derivative(op, op.parameters[i], _not_implemented(op.name)) for i in positions]
        self.node = op.nodes.get(name) or op.nodes.setdefault(name, node_class(op, name, derivatives))
        needed = [each for each in derivatives if each.mask & mask]
        sources = dict.fromkeys(source for each in derivatives for source in each.sources if source[0] in _SAVED)
        tensors = {*op.tensors, *op.sequences}
        plain = [each for each in sources if each[0] == ARGUMENT and each[1] not in tensors]
        others = [each for each in sources if each not in plain]
        others = [each for each in others if _is_saved(op, each, derivatives, len(positions), mask)]
        # PyTorch looks at arguments first, by their names: which one it says was modified depends on that. Before them
        # comes what is no tensor, and stays when the node is freed.
        kept = [each for each in others if each[0] not in (ARGUMENT, RESULT)]
        arguments = sorted((op.parameters[index], (kind, index)) for kind, index in others if kind == ARGUMENT)
        others = kept + [each for _, each in arguments] + [each for each in others if each[0] == RESULT]
        saved = plain + others
        slots = {source: slot for slot, source in enumerate(saved)}
        self.inputs = frozenset(i for each in needed for i in each.inputs if mask >> i & 1)
        self.edges = tuple(i if i in self.inputs else None for i in positions)
        self.plain = tuple(index for _, index in plain)
        self.others = tuple(others)
        self.saved = tuple(saved)
        self.kept = len(plain) + len(kept)
        self.may_save_number = op.name in NUMBER_IS_PARAMETER or name in NUMBER_IS_PARAMETER
        self.saves_tensors = any(kind == RESULT or (kind == ARGUMENT and index in tensors) for kind, index in saved)
        is_list = op.gradient_sequence is not None
        self.calls = tuple(
            (
                each.formula,
                tuple((source[0], slots.get(source, 0)) for source in each.sources),
                None if is_list else tuple(positions.index(i) for i in each.inputs if i in positions),
                tuple(bool(mask >> i & 1) for i in each.inputs),
            )
            for each in needed
        )

    def saves(self, position: int) -> bool:
        """Whether the argument at `position` is saved itself, not only its shape."""
        return (ARGUMENT, position) in self.saved


def _not_implemented(name: str) -> Formula:
    def formula() -> None:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return formula


def _is_saved(op: Op, source: tuple[int, int], derivatives: Sequence[Derivative], inputs: int, mask: int) -> bool:
    """Whether a value is saved, of an op with so many `inputs`: unless only a gradient that nobody needs asks for it.

    PyTorch looks for that only with tensors, not with results, lists and the ops of a backward pass, and only where
    the derivative is that of one input among several.
    """
    kind, index = source
    users = [each for each in derivatives if source in each.sources]
    may_be_left_out = (
        kind in (ARGUMENT, STRIDE)
        and index in op.tensors
        and len(users) == len(users[0].inputs) == 1 < inputs
        and op.gradient_sequence is None
        and "backward" not in op.name
    )
    return not may_be_left_out or bool(users[0].mask & mask)


def _is_input(op: Op, name: str, position: int, args: Sequence[Any], mask: int) -> bool:
    """Whether the node has an edge for this argument: not in an overload for numbers, unless it is a tensor."""
    if name == NOT_IMPLEMENTED:
        return bool(mask >> position & 1)
    takes_numbers = op.is_overloaded and any(isinstance(args[i], Number) for i in op.differentiable)
    return not takes_numbers or not (args[position] is None or isinstance(args[position], Number))
