"""ONNX's messages: tensors, nodes, types of inputs and outputs, the model.

The numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minitorch.dtypes import dtype
from minitorch.onnx.errors import OnnxExporterError
from minitorch.onnx.protobuf import message
from minitorch.version import __version__

ELEMENT_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
    "complex64": 14, "complex128": 15, "bfloat16": 16,
}  # fmt: skip
"""The numbers of element types, by NumPy's names."""

IR_VERSION = 10
"""The version of the file format, the one that PyTorch 2.13 writes."""

EXTERNAL = 1
"""Says of a tensor that its numbers are in another file."""


def element_type(kind: dtype) -> int:
    """The number of a type. Raises OnnxExporterError for one that ONNX lacks."""
    if kind.name not in ELEMENT_TYPES:
        raise OnnxExporterError(f"ONNX has no element type {kind.name}")
    return ELEMENT_TYPES[kind.name]


def tensor(name: str, array: Any, kind: dtype, place: tuple[str, int] | None = None) -> bytes:
    """A TensorProto: with the numbers, or with the `place` where they are, a file and an offset in it."""
    fields = {1: [int(length) for length in array.shape], 2: element_type(kind), 8: name}
    if place is None:
        return message({**fields, 9: array.tobytes()})
    described = {"location": place[0], "offset": str(place[1]), "length": str(array.nbytes)}
    return message({**fields, 13: [message({1: key, 2: value}) for key, value in described.items()], 14: EXTERNAL})


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Any]) -> bytes:
    """A NodeProto. An input that is left out has the name ""."""
    described = [attribute(name, value) for name, value in attributes.items()]
    return message({1: list(inputs), 2: list(outputs), 3: f"node_{outputs[0]}", 4: kind, 5: described})


def attribute(name: str, value: Any) -> bytes:
    """An AttributeProto: a float, an integer, a string, or a list of integers."""
    if isinstance(value, float):
        return message({1: name, 2: value, 20: 1})
    if isinstance(value, int):
        return message({1: name, 3: int(value), 20: 2})
    if isinstance(value, str):
        return message({1: name, 4: value, 20: 3})
    return message({1: name, 8: [int(each) for each in value], 20: 7})


def value_info(name: str, kind: dtype, shape: Sequence[int | str]) -> bytes:
    """A ValueInfoProto: a name, and a type of tensors. A dimension is a length, or a name for one that is open."""
    dims = [message({2: each} if isinstance(each, str) else {1: int(each)}) for each in shape]
    return message({1: name, 2: message({1: message({1: element_type(kind), 2: message({1: dims})})})})


def model(graph: bytes, opset: int) -> bytes:
    """A ModelProto around a graph."""
    return message({1: IR_VERSION, 2: "minitorch", 3: __version__, 7: graph, 8: message({1: "", 2: opset})})
