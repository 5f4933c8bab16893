"""A runtime for ONNX models. It needs NumPy alone, so this file can be copied to wherever a model runs."""

# 20b · Export
from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

TYPES = {1: "f4", 2: "u1", 3: "i1", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8"}
"""Element types by their numbers."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The varint that begins at this place, and the place after it."""
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def fields(data: bytes) -> dict[int, list[Any]]:
    """The values of a message by field number, in order; integers are without sign, and messages inside are bytes."""
    found: dict[int, list[Any]] = defaultdict(list)
    value: Any
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 5:
            (value,), at = struct.unpack("<f", data[at : at + 4]), at + 4
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {key & 7} are not known")
        found[key >> 3].append(value)
    return found


def signed(number: int) -> int:
    """What 64 bits mean as a number with a sign."""
    return number - 2**64 if number >> 63 else number


def read_tensor(data: bytes) -> tuple[str, Any]:
    """A tensor's name and its array."""
    found = fields(data)
    array = np.frombuffer(found[9][0], TYPES[found[2][0]])
    return found[8][0].decode(), array.reshape(found[1])


def read_attribute(data: bytes) -> tuple[str, Any]:
    """An attribute's name and its value: a float, an integer or a list of integers."""
    found = fields(data)
    kind = found[20][0]
    if kind == 1:
        return found[1][0].decode(), found[2][0]
    numbers = [signed(each) for each in found[3 if kind == 2 else 8]]
    return found[1][0].decode(), numbers[0] if kind == 2 else numbers


def windows(x: Any, kernel: list[int], strides: list[int], pads: list[int], dilations: list[int], fill: float) -> Any:
    """What a kernel sees: (N, C, H, W) → (N, C, rows, columns, kh, kw)."""
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    return seen[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]


def conv(
    x: Any, weight: Any, bias: Any = None, *, kernel_shape: Any, strides: Any, pads: Any, dilations: Any, group: int
) -> Any:
    """Each group of channels times its kernels."""
    seen = windows(x, kernel_shape, strides, pads, dilations, 0.0)
    parts = zip(np.split(seen, group, 1), np.split(weight, group), strict=True)
    result = np.concatenate([np.einsum("nchwij,ocij->nohw", *part, optimize=True) for part in parts], 1)
    return result if bias is None else result + bias.reshape(-1, 1, 1)


def max_pool(x: Any, *, kernel_shape: Any, strides: Any, pads: Any, dilations: Any) -> Any:
    """The largest number of each window."""
    return windows(x, kernel_shape, strides, pads, dilations, -np.inf).max((-2, -1))


def softmax(x: Any, axis: int) -> Any:
    """exp(x) / Σ exp(x)."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cut(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    """Slices along some axes."""
    where = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        where[axis] = slice(start, end, step)
    return x[tuple(where)]


SAME: tuple[str, ...] = ("Add", "Abs", "Exp", "Log", "Sqrt", "Reciprocal", "Tanh", "Round", "Greater", "Less", "Equal")
SAME += ("Where", "MatMul")
"""What NumPy has under the same name, in lower case."""

KERNELS: dict[str, Callable[..., Any]] = {kind: getattr(np, kind.lower()) for kind in SAME}
KERNELS |= {"Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Neg": np.negative}
KERNELS |= {"Max": np.maximum, "Min": np.minimum, "Reshape": np.reshape}
KERNELS |= {"Conv": conv, "MaxPool": max_pool, "Softmax": softmax, "Slice": cut}
KERNELS |= {
    "Identity": lambda x: x,
    "Erf": lambda x: np.vectorize(math.erf, [x.dtype])(x),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, 0),
    "Gemm": lambda x, weight, bias, transB: x @ weight.T + bias,
    "LogSoftmax": lambda x, axis: np.log(softmax(x, axis)),
    "ReduceSum": lambda x, axes, keepdims: x.sum(tuple(axes), keepdims=bool(keepdims)),
    "ArgMax": lambda x, axis, keepdims: x.argmax(axis, keepdims=bool(keepdims)),
    "Transpose": lambda x, perm: x.transpose(perm),
    "Squeeze": lambda x, axes: x.squeeze(tuple(axes)),
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
    "Gather": lambda x, indices, axis: x.take(indices, axis),
    "Concat": lambda *arrays, axis: np.concatenate(arrays, axis),
}
"""What each operator computes."""


def run_onnx(data: bytes, *inputs: Any) -> list[Any]:
    """Run a model on arrays, node by node, and return the arrays of its outputs."""
    graph = fields(fields(data)[7][0])
    values = dict(map(read_tensor, graph[5]))
    for info, array in zip(graph[11], inputs, strict=True):
        values[fields(info)[1][0].decode()] = array
    for each in map(fields, graph[1]):
        kernel, attributes = KERNELS[each[4][0].decode()], dict(map(read_attribute, each[5]))
        values[each[2][0].decode()] = kernel(*(values[name.decode()] for name in each[1]), **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]
