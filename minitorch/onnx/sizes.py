"""Lengths that are open: what differs between traces of one module on inputs of different sizes.

For each name of an open length the module is traced once more, with that length larger by one. What is the same in all
traces is fixed; a number that grows is a function of the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minitorch
from minitorch.onnx.errors import OnnxExporterError
from minitorch.onnx.tracing import Trace, TracedCall, TracedValue
from minitorch.tensor import Tensor


class Open:
    """A number that was `example`, and grew by `growth[symbol]` when the length of that name grew by one."""

    def __init__(self, example: int, growth: dict[str, int]) -> None:
        self.example, self.growth = example, growth

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Open) and (self.example, self.growth) == (other.example, other.growth)

    __hash__ = object.__hash__

    def line(self, lengths: dict[str, int]) -> tuple[str, int, int]:
        """It as factor · symbol + rest: the symbol, the factor and the rest, for the lengths of the examples.

        Raises OnnxExporterError if it depends on several.
        """
        if len(self.growth) != 1:
            raise OnnxExporterError(f"a size depends on {' and '.join(self.growth)} at once")
        ((symbol, factor),) = self.growth.items()
        return symbol, factor, self.example - factor * lengths[symbol]

    def text(self, lengths: dict[str, int]) -> str:
        """It as the name of a dimension."""
        if len(self.growth) != 1:
            return "*".join(self.growth)
        symbol, factor, rest = self.line(lengths)
        return (f"{factor}*{symbol}" if factor != 1 else symbol) + (f" + {rest}" if rest else "")


def merge(first: Trace, others: dict[str, Trace]) -> Trace:
    """The first trace, with an `Open` for each number that differs in one of the others.

    Raises OnnxExporterError where anything else differs.
    """
    merger = _Merger(first, others)
    for name, other in others.items():
        if [call.op for call in first.calls] != [call.op for call in other.calls]:
            raise OnnxExporterError(f"the ops that the model calls depend on {name}")
    for number, call in enumerate(first.calls):
        twins = {name: other.calls[number] for name, other in others.items()}
        call.args = merger.merged(call.args, {name: twin.args for name, twin in twins.items()}, call)
        for place, output in enumerate(call.outputs):
            merger.match(output, {name: twin.outputs[place] for name, twin in twins.items()})
    return first


class _Merger:
    def __init__(self, first: Trace, others: dict[str, Trace]) -> None:
        self.twins: dict[tuple[str, TracedValue], TracedValue] = {}
        for place, value in enumerate(first.inputs):
            self.match(value, {name: other.inputs[place] for name, other in others.items()})

    def match(self, value: TracedValue, twins: dict[str, TracedValue]) -> None:
        """The results of one call are one value, with a shape that says what is open."""
        for name, twin in twins.items():
            self.twins[name, value] = twin
        lengths = enumerate(value.shape)
        value.shape = tuple(_number(n, {name: twin.shape[i] for name, twin in twins.items()}) for i, n in lengths)

    def merged(self, argument: Any, twins: dict[str, Any], call: TracedCall) -> Any:
        """One argument, merged with the same one of the other traces."""
        if isinstance(argument, (list, tuple)):
            if any(len(twin) != len(argument) for twin in twins.values()):
                raise OnnxExporterError(f"the arguments of {call.op} depend on {', '.join(twins)}")
            parts = [
                self.merged(each, {name: twin[place] for name, twin in twins.items()}, call)
                for place, each in enumerate(argument)
            ]
            if hasattr(argument, "_fields"):
                return type(argument)(*parts)
            return parts if isinstance(argument, list) else tuple(parts)
        if isinstance(argument, int) and not isinstance(argument, bool):
            return _number(argument, twins)
        for name, twin in twins.items():
            if not self.same(name, argument, twin):
                raise OnnxExporterError(f"a constant of {call.op} depends on {name}, which a file can't hold")
        return argument

    def same(self, name: str, argument: Any, twin: Any) -> bool:
        """Whether an argument and its twin stand for the same."""
        if isinstance(argument, TracedValue):
            return self.twins.get((name, argument)) is twin
        if isinstance(argument, Tensor):
            if not isinstance(twin, Tensor) or argument.shape != twin.shape:
                return False
            return argument is twin or bool(np.array_equal(argument._elements, twin._elements))
        return bool(argument == twin)


def _number(example: int, twins: dict[str, int]) -> int | Open:
    """A number, or an Open if it isn't the same in all traces."""
    growth = {name: twin - example for name, twin in twins.items() if twin != example}
    return Open(example, growth) if growth else example


def enlarged(tensor: Tensor, dim: int) -> Tensor:
    """The tensor with its first slice along a dimension once more: valid where the tensor is, and longer by one."""
    return minitorch.cat([tensor, tensor.narrow(dim, 0, 1)], dim)


def opened(lengths: Sequence[Any]) -> list[int]:
    """The places of the lengths that are open."""
    return [place for place, length in enumerate(lengths) if isinstance(length, Open)]
