"""The graph of a file as it is being written: nodes, constants, and the names of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minitorch
from minitorch.dtypes import dtype
from minitorch.onnx import messages
from minitorch.onnx.errors import OnnxExporterError
from minitorch.onnx.sizes import Open, opened
from minitorch.onnx.tracing import TracedCall, TracedValue
from minitorch.tensor import Tensor


class ModelWriter:
    """Writes nodes and constants; a constant that is a parameter has its name.

    `sources` says for each open length which input has it, and in which dimension; `call` is what is being written.
    """

    def __init__(self, opset: int, parameters: dict[str, Tensor], lengths: dict[str, int]) -> None:
        self.opset, self.lengths = opset, lengths
        self.parameters = {id(tensor): name for name, tensor in parameters.items()}
        self.names: dict[Any, str] = {}
        self.nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
        self.constants: dict[str, tuple[Any, dtype]] = {}
        self.sources: dict[str, tuple[str, int]] = {}
        self.alive: list[Tensor] = []
        self.call: TracedCall

    def node(self, kind: str, *inputs: Any, results: int = 1, **attributes: Any) -> Any:
        """Write a node, and give the name of its output, or of its outputs.

        Inputs are Values, tensors, names, or None for one that is left out.
        """
        given = [self.name(each) for each in inputs]
        while given and not given[-1]:
            given.pop()
        made = [f"{kind.lower()}_{len(self.nodes)}" + (f"_{place}" if place else "") for place in range(results)]
        self.nodes.append((kind, given, made, attributes))
        return made[0] if results == 1 else tuple(made)

    def name(self, value: Any) -> str:
        """The name of a value; a tensor, which is a constant, is written first."""
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, TracedValue):
            return self.names[value]
        if id(value) not in self.names:
            name = self.parameters.get(id(value), f"constant_{len(self.constants)}")
            self.names[id(value)] = self.constant(value._elements, value.dtype, name)
            self.alive.append(value)  # or its id could become another's
        return self.names[id(value)]

    def constant(self, array: Any, kind: dtype, name: str = "") -> str:
        """Write an array, and give its name."""
        name = name or f"constant_{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array).reshape(np.shape(array)), kind
        return name

    def ints(self, *values: int) -> str:
        """Integers as a constant of one dimension."""
        return self.constant(np.array(values, np.int64), minitorch.int64)

    def as_type(self, value: Any, kind: dtype) -> Any:
        """A traced value, a tensor or a number as a value of this type: with a Cast where it has another."""
        if isinstance(value, str):
            return value
        if isinstance(value, TracedValue):
            return value if value.dtype is kind else self.node("Cast", value, to=messages.element_type(kind))
        if isinstance(value, Open):
            return self.node("Squeeze", self.node("Cast", self.length(value), to=messages.element_type(kind)))
        if isinstance(value, Tensor):
            return value if value.dtype is kind else value.to(kind)
        return self.constant(np.array(value, kind.numpy), kind)

    def length(self, value: int | Open) -> str:
        """One length as a tensor with one number: a constant, or computed from the shape of an input."""
        if not isinstance(value, Open):
            return self.ints(value)
        symbol, factor, rest = value.line(self.lengths)
        place, dim = self.sources[symbol]
        found: str = self.node("Shape", place, start=dim, end=dim + 1)
        if factor != 1:
            found = self.node("Mul", found, self.ints(factor))
        return self.node("Add", found, self.ints(rest)) if rest else found

    def size(self, lengths: Sequence[Any]) -> str:
        """Several lengths as a tensor."""
        if not opened(lengths):
            return self.ints(*lengths)
        return self.node("Concat", *(self.length(each) for each in lengths), axis=0)

    def reshape_size(self, lengths: Sequence[Any]) -> str:
        """The same for a Reshape, which finds one open length by itself, where -1 stands."""
        places = opened(lengths)
        several = [place for place in places if len(lengths[place].growth) > 1]
        if len(several) > 1:
            raise OnnxExporterError("a view with several lengths that each depend on several others can't be exported")
        free = (several or places or [-1])[0]
        return self.size([-1 if place == free else length for place, length in enumerate(lengths)])

    def finish(self, value: Any, name: str) -> None:
        """Call a value by the name of an output: the node that makes it does, if only it has to know."""
        made = self.name(value)
        for _, _, outputs, _ in self.nodes:
            if made in outputs:
                break
        else:
            self.nodes.append(("Identity", [made], [name], {}))
            return
        for _, inputs, outputs, _ in self.nodes:
            inputs[:] = [name if each == made else each for each in inputs]
            outputs[:] = [name if each == made else each for each in outputs]
        self.names.update({key: name for key, each in self.names.items() if each == made})


def promoted(x: Any, y: Any) -> dtype:
    """The type in which operands meet: Values, tensors and numbers."""
    examples = [
        minitorch.zeros((1,) * each.ndim, dtype=each.dtype)
        if isinstance(each, TracedValue)
        else each.example
        if isinstance(each, Open)
        else each
        for each in (x, y)
    ]
    return minitorch.result_type(*examples)
