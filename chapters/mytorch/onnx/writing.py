"""A graph as an ONNX model: each step becomes a node, or a few, each constant a tensor of the file."""

# 20b · Export
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import cat, no_grad
from ..dispatch import Function
from ..graph import Graph, Step, simplify, steps_in, trace
from ..tensor import Tensor, on_host
from . import messages
from .fusing import fuse
from .symbolic import drop_whole_slices, generalize, results


class File:
    """What has been written so far. `values` are the results of the steps for the examples."""

    def __init__(self, values: dict[Step, Tensor]) -> None:
        self.values = values
        self.names: dict[Any, str] = {}
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Write a node; its inputs are steps, tensors, arrays, numbers, or names of nodes. The name of its result."""
        dtypes = [self.dtype(each) for each in inputs if isinstance(each, (Step, Tensor))]
        widest = max(dtypes, key=lambda dtype: dtype.itemsize, default=np.dtype("float32"))
        names = [self.name(each, widest) for each in inputs]
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(messages.node(kind, names, output, attributes))
        return output

    def name(self, value: Any, dtype: Any) -> str:
        """The name of an input. A constant is written first; a number gets the type that is given."""
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        if isinstance(value, Step):
            return self.names[value]
        if isinstance(value, float) and dtype.kind != "f":
            raise NotImplementedError(f"{value} with a tensor of type {dtype}")
        array = on_host(value) if isinstance(value, Tensor) else np.asarray(value, getattr(value, "dtype", dtype))
        name = f"constant_{len(self.tensors)}"
        self.tensors.append(messages.tensor(name, array))
        return name

    def rank(self, x: Any) -> int:
        """The number of dimensions of a step's result, or of a tensor."""
        return self.values.get(x, x).ndim

    def dtype(self, x: Any) -> Any:
        """The type of its elements, as NumPy's."""
        return self.values.get(x, x).dtype.numpy


def ints(*values: Any) -> Any:
    """Integers as an array, as inputs of nodes."""
    return np.array(values, np.int64)


def dims(dim: Any, rank: int) -> Any:
    """Dimensions as an array: None means all."""
    return ints(*(range(rank) if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]))


def exchanged(rank: int, first: int, second: int) -> list[int]:
    """All dimensions in order, but for two."""
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return order


def gemm(f: File, x: Any, weight: Any, bias: Any) -> str:
    """A linear layer: Gemm for a matrix; it takes nothing else, so more dimensions need a product and a sum."""
    if f.rank(x) == 2:
        return f.node("Gemm", x, weight, bias, transB=1)
    return f.node("Add", f.node("MatMul", x, weight.t()), bias)


def conv(f: File, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> str:
    """A convolution; ONNX has a padding for each of the four sides."""
    geometry = {"strides": list(stride), "pads": [*padding, *padding], "dilations": list(dilation)}
    inputs = [x, weight] if bias is None else [x, weight, bias]
    return f.node("Conv", *inputs, kernel_shape=list(weight.shape[2:]), group=groups, **geometry)


def max_pool(f: File, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> str:
    """A maximum pool."""
    geometry = {"strides": list(stride), "pads": [*padding, *padding], "dilations": list(dilation)}
    return f.node("MaxPool", x, kernel_shape=list(kernel), **geometry)


def same(kind: str) -> Callable[..., str]:
    """For an operation that ONNX has under another name."""
    return lambda f, *args: f.node(kind, *args)


ELEMENTWISE = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg", "abs": "Abs"}
ELEMENTWISE |= {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "tanh": "Tanh", "erf": "Erf"}
ELEMENTWISE |= {"sigmoid": "Sigmoid", "relu": "Relu", "maximum": "Max", "minimum": "Min", "matmul": "MatMul"}
ELEMENTWISE |= {"gt": "Greater", "lt": "Less", "eq": "Equal", "where": "Where", "round": "Round", "clone": "Identity"}

NODES: dict[str, Callable[..., str]] = {
    **{name: same(kind) for name, kind in ELEMENTWISE.items()},
    "rsqrt": lambda f, x: f.node("Reciprocal", f.node("Sqrt", x)),
    "masked_fill": lambda f, x, mask, value: f.node("Where", mask, np.asarray(value, f.dtype(x)), x),
    "softmax": lambda f, x, dim: f.node("Softmax", x, axis=dim),
    "log_softmax": lambda f, x, dim: f.node("LogSoftmax", x, axis=dim),
    "sum": lambda f, x, dim, keep: f.node("ReduceSum", x, dims(dim, f.rank(x)), keepdims=int(keep)),
    "argmax": lambda f, x, dim, keep: f.node("ArgMax", x, axis=dim, keepdims=int(keep)),
    "view": lambda f, x, size: f.node("Reshape", x, ints(*size)),
    "permute": lambda f, x, order: f.node("Transpose", x, perm=[each % f.rank(x) for each in order]),
    "transpose": lambda f, x, first, second: f.node("Transpose", x, perm=exchanged(f.rank(x), first, second)),
    "squeeze": lambda f, x, dim: f.node("Squeeze", x, dims(dim, f.rank(x))),
    "unsqueeze": lambda f, x, dim: f.node("Unsqueeze", x, ints(dim)),
    "select": lambda f, x, dim, index: f.node("Gather", x, np.asarray(index, np.int64), axis=dim),
    "slice": lambda f, x, dim, *bounds: f.node("Slice", x, *(ints(each) for each in (*bounds[:2], dim, bounds[2]))),
    "cat": lambda f, tensors, dim: f.node("Concat", *tensors, axis=dim),
    "embedding": lambda f, input, weight, _: f.node("Gather", weight, input, axis=0),
}
NODES |= {"linear": gemm, "conv2d": conv, "max_pool2d": max_pool}
"""How each operation is written."""


def to_onnx(graph: Graph, examples: Sequence[Tensor], batch: str | None = None) -> bytes:
    """A graph as an ONNX model, for inputs like the examples. `batch` names an open first dimension of all inputs."""
    values = results(graph, examples)
    file = File(values)
    file.names = {step: f"input_{number}" for number, step in enumerate(graph.inputs)}
    for step in graph.steps:
        name = step.op.name if step.op else "input"
        if name not in NODES:
            raise NotImplementedError(f"no ONNX operator for {name}")
        file.names[step] = NODES[name](file, *step.args)

    def described(step: Step) -> bytes:
        first, *others = values[step].shape or (None,)
        shape = [] if first is None else [batch or first, *others]
        return messages.value_info(file.names[step], file.dtype(step).name, shape)

    inputs, outputs = ([described(step) for step in steps] for steps in (graph.inputs, steps_in(graph.output)))
    return messages.model(file.nodes, file.tensors, inputs, outputs)


def export(function: Function, *examples: Tensor, batch: str | None = "batch") -> bytes:
    """A function or module as an ONNX model. First dimensions are open, or the examples' if `batch` is None."""

    def traced(*inputs: Tensor) -> Graph:
        with no_grad():
            return fuse(drop_whole_slices(simplify(trace(function, *inputs)), inputs))

    graph = traced(*examples)
    if batch is not None:
        graph = generalize(graph, traced(*(cat([each, each[:1]], 0) for each in examples)))
    return to_onnx(graph, examples, batch)
