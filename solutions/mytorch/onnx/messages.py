"""The messages of ONNX, whose fields have their numbers in https://github.com/onnx/onnx/blob/main/onnx/onnx.proto"""

# 20b · Export
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .protobuf import message

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7}
TYPES |= {"bool": 9, "float16": 10, "float64": 11}
"""The numbers of element types."""

OPSET = 18
"""The version of the list of operators: what each of them means."""


def tensor(name: str, array: Any) -> bytes:
    """An array: its dimensions, its type, its name, and its numbers as they are in memory."""
    raw = np.ascontiguousarray(array).tobytes()
    return message({1: [int(each) for each in array.shape], 2: TYPES[array.dtype.name], 8: name, 9: raw})


def node(kind: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> bytes:
    """One operator, with the names of its inputs and of its output."""
    described = [attribute(name, value) for name, value in attributes.items()]
    return message({1: list(inputs), 2: output, 3: output, 4: kind, 5: described})


def attribute(name: str, value: Any) -> bytes:
    """What is fixed about a node: a float, an integer or a list of integers."""
    number, kind = (2, 1) if isinstance(value, float) else (3, 2) if isinstance(value, int) else (8, 7)
    return message({1: name, number: value, 20: kind})


def value_info(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    """The type of an input or output. A dimension is a length, or a name for a length that is open."""
    dims = [message({2 if isinstance(each, str) else 1: each}) for each in shape]
    return message({1: name, 2: message({1: message({1: TYPES[kind], 2: message({1: dims})})})})


def model(nodes: list[bytes], tensors: list[bytes], inputs: list[bytes], outputs: list[bytes]) -> bytes:
    """The whole file."""
    graph = message({1: nodes, 2: "mytorch", 5: tensors, 11: inputs, 12: outputs})
    return message({1: 10, 2: "mytorch", 7: graph, 8: message({1: "", 2: OPSET})})
