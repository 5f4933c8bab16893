"""What an op's formulas need: worked out from the names of their parameters, and from which inputs need gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from minitorch.autograd.attributes import node_class
from minitorch.dispatch.formulas import (
    ARGUMENT,
    GRAD,
    GRADS,
    MASK,
    MEMORY,
    NOT_IMPLEMENTED,
    PLAIN,
    RESULT,
    SAVED,
    STRIDE,
    Derivative,
    Formula,
    passed_on,
)

if TYPE_CHECKING:
    from minitorch.dispatch.op import Op


class Plan:
    """The formulas to run for one set of inputs that need gradients, and the values to save for them, each once.

    What is saved for one input's gradient alone, PyTorch saves only if this input needs one; everything else always.
    """

    __slots__ = (
        *("calls", "edges", "inputs", "keeps", "kept", "may_save_number", "node"),
        *("overwrites", "passed_on", "saved", "saves_tensors", "sequence"),
    )

    def __init__(self, op: Op, mask: int, args: Sequence[Any]) -> None:
        name = op.recording.node_name(*args) if callable(op.recording.node_name) else op.recording.node_name
        positions = [i for i in op.recording.differentiable if _is_input(op, name, i, args, mask)]
        derivatives = [each for each in op.recording.derivatives or () if any(i in positions for i in each.inputs)]
        if name == NOT_IMPLEMENTED:
            derivatives = [Derivative(op, op.schema.parameters[i], _not_implemented(op.name)) for i in positions]
        self.node = op.recording.nodes.get(name) or op.recording.nodes.setdefault(
            name, node_class(op, name, derivatives)
        )
        needed = [each for each in derivatives if each.mask & mask]
        sources = dict.fromkeys(source for each in derivatives for source in each.sources if source[0] in SAVED)
        tensors = {*op.schema.tensors, *op.schema.sequences}
        plain = [each for each in sources if each[0] == ARGUMENT and each[1] not in tensors]
        others = [each for each in sources if each not in plain]
        others = [each for each in others if _is_saved(op, each, derivatives, len(positions), mask)]
        # What is no tensor stays when the node is freed, and comes first.
        kept = [each for each in others if each[0] not in (ARGUMENT, RESULT)]
        others = kept + [each for each in others if each not in kept]
        saved = plain + others
        # Formulas take their values from a list of what was saved, then what `OpNode.apply` adds.
        places = {source: place for place, source in enumerate(saved)}
        places |= {(MEMORY, 0): -4, (MASK, 0): -3, (GRADS, 0): -2, (GRAD, 0): -1}
        last = needed[-1:]  # after which nobody reads the gradient: the others get None as `memory`
        before = places | {(MEMORY, 0): -5}
        self.overwrites = any((MEMORY, 0) in each.sources for each in last)
        self.inputs = frozenset(i for each in needed for i in each.inputs if mask >> i & 1)
        self.sequence = op.recording.gradient_sequence
        self.edges = tuple(i if i in self.inputs else None for i in positions) if self.sequence is None else ()
        self.saved = tuple(saved)
        self.keeps = tuple((PLAIN, index) for _, index in plain) + tuple(others)  # `saved`; PLAIN: no tensor
        self.kept = len(plain) + len(kept)
        self.may_save_number = op.recording.saves_number
        self.saves_tensors = any(kind == RESULT or (kind == ARGUMENT and index in tensors) for kind, index in saved)
        is_list = self.sequence is not None
        passed = [] if is_list else [each for each in needed if each.formula is passed_on]
        self.passed_on = tuple(positions.index(each.inputs[0]) for each in passed)
        self.calls = tuple(
            (
                each.formula,
                _getter([(places if each in last else before)[source] for source in each.sources]),
                None if is_list else tuple(positions.index(i) for i in each.inputs if i in positions),
                tuple(bool(mask >> i & 1) for i in each.inputs),
            )
            for each in needed
            if each not in passed
        )

    def saves(self, position: int) -> bool:
        """Whether the argument at `position` is saved itself, not only its shape."""
        return (ARGUMENT, position) in self.saved


def _getter(places: Sequence[int]) -> Callable[[Any], Sequence[Any]]:
    """A function that returns the items at these places of a list. `itemgetter` of one place would give no sequence."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1 or None) if places else slice(0))


def _not_implemented(name: str) -> Formula:
    def formula() -> None:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return formula


def _is_saved(op: Op, source: tuple[int, int], derivatives: Sequence[Derivative], inputs: int, mask: int) -> bool:
    """Whether a node with edges for so many `inputs` saves a value.

    It doesn't if only the gradient of an input that needs none would use it. As in PyTorch, this exception is made for
    tensors alone, not for results and lists, nor for ops that save all, and where the derivative is that of one input
    among several.
    """
    kind, index = source
    users = [each for each in derivatives if source in each.sources]
    may_be_left_out = (
        kind in (ARGUMENT, STRIDE)
        and index in op.schema.tensors
        and len(users) == len(users[0].inputs) == 1 < inputs
        and op.recording.gradient_sequence is None
        and not op.recording.saves_all
    )
    return not may_be_left_out or bool(users[0].mask & mask)


def _is_input(op: Op, name: str, position: int, args: Sequence[Any], mask: int) -> bool:
    """Whether the node has an edge for this argument: in an overload that takes numbers, only tensors have one."""
    if name == NOT_IMPLEMENTED:
        return bool(mask >> position & 1)
    takes_numbers = op.recording.is_overloaded and any(isinstance(args[i], Number) for i in op.recording.differentiable)
    return not takes_numbers or not (args[position] is None or isinstance(args[position], Number))
