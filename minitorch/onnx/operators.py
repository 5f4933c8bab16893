"""How each op is written: a function of the writer and of the op's arguments that gives the names of its results.

The operators and their attributes are those of https://onnx.ai/onnx/operators/ as of opset 18; newer opsets have them
unchanged, but for `Gelu`, which came with 20.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import minitorch
from minitorch.onnx.errors import UnsupportedOperatorError
from minitorch.onnx.sizes import Open
from minitorch.onnx.tracing import TracedValue
from minitorch.onnx.writing import ModelWriter, promoted

OPERATORS: dict[str, Callable[..., Any]] = {}
"""The functions by the names of the ops."""


def writes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare how ops are written."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return declare


def refuse(what: str) -> UnsupportedOperatorError:
    """The error for a form of an op that isn't written."""
    return UnsupportedOperatorError(f"{what} can't be exported to ONNX")


# Elementwise

UNARY = {
    "abs": "Abs", "ceil": "Ceil", "cos": "Cos", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log",
    "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign",
    "sin": "Sin", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
COMPARISONS = {"eq": "Equal", "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual"}
ARITHMETIC = {"mul": "Mul", "pow": "Pow", "maximum": "Max", "minimum": "Min"}


def unary(kind: str) -> Callable[..., Any]:
    """A function of one tensor; integers become floats where the op does that."""
    return lambda w, x, *_: w.node(kind, w.as_type(x, w.call.outputs[0].dtype))


def binary(kind: str) -> Callable[..., Any]:
    """A function of two operands that meet in the type of the result."""

    def write(w: ModelWriter, x: Any, y: Any) -> Any:
        result = w.call.outputs[0].dtype
        return w.node(kind, w.as_type(x, result), w.as_type(y, result))

    return write


def comparison(kind: str) -> Callable[..., Any]:
    """A comparison: operands meet in a type of their own."""

    def write(w: ModelWriter, x: Any, y: Any) -> Any:
        meeting = promoted(x, y)
        return w.node(kind, w.as_type(x, meeting), w.as_type(y, meeting))

    return write


OPERATORS.update({name: unary(kind) for name, kind in UNARY.items()})
OPERATORS.update({name: binary(kind) for name, kind in ARITHMETIC.items()})
OPERATORS.update({name: comparison(kind) for name, kind in COMPARISONS.items()})


@writes("ne")
def not_equal(w: ModelWriter, x: Any, y: Any) -> Any:
    return w.node("Not", OPERATORS["eq"](w, x, y))


@writes("add")
def add(w: ModelWriter, x: Any, y: Any, alpha: Any) -> Any:
    return OPERATORS_OF_SUMS["Add"](w, x, scaled(w, y, alpha))


@writes("sub")
def subtract(w: ModelWriter, x: Any, y: Any, alpha: Any) -> Any:
    return OPERATORS_OF_SUMS["Sub"](w, x, scaled(w, y, alpha))


@writes("rsub")
def subtract_from(w: ModelWriter, x: Any, y: Any, alpha: Any) -> Any:
    return OPERATORS_OF_SUMS["Sub"](w, y, scaled(w, x, alpha))


OPERATORS_OF_SUMS = {"Add": binary("Add"), "Sub": binary("Sub")}


def scaled(w: ModelWriter, x: Any, alpha: Any) -> Any:
    """The second operand of a sum times `alpha`."""
    if alpha == 1:
        return x
    if not isinstance(x, TracedValue):
        return x * alpha
    return w.node("Mul", w.as_type(x, w.call.outputs[0].dtype), w.as_type(alpha, w.call.outputs[0].dtype))


@writes("true_divide")
def divide(w: ModelWriter, x: Any, y: Any) -> Any:
    result = w.call.outputs[0].dtype
    return w.node("Div", w.as_type(x, result), w.as_type(y, result))


@writes("rsqrt")
def reciprocal_of_root(w: ModelWriter, x: Any) -> Any:
    return w.node("Reciprocal", w.node("Sqrt", w.as_type(x, w.call.outputs[0].dtype)))


@writes("clamp", "hardtanh")
def clamp(w: ModelWriter, x: Any, low: Any, high: Any) -> Any:
    kind = w.call.outputs[0].dtype
    low, high = (None if each is None else w.as_type(each, kind) for each in (low, high))
    return w.node("Clip", w.as_type(x, kind), low, high)


@writes("leaky_relu")
def leaky_relu(w: ModelWriter, x: Any, slope: float) -> Any:
    return w.node("LeakyRelu", x, alpha=float(slope))


@writes("silu")
def silu(w: ModelWriter, x: Any) -> Any:
    return w.node("Mul", x, w.node("Sigmoid", x))


@writes("hardswish")
def hardswish(w: ModelWriter, x: Any) -> Any:
    return w.node("HardSwish", x)


@writes("gelu")
def gelu(w: ModelWriter, x: Any, approximate: str) -> Any:
    """x·Φ(x). Before opset 20 it has no operator, and becomes its formula."""
    if w.opset >= 20:
        return w.node("Gelu", x, approximate=approximate)
    half, one = w.as_type(0.5, x.dtype), w.as_type(1.0, x.dtype)
    if approximate == "none":
        inner = w.node("Erf", w.node("Mul", x, w.as_type(math.sqrt(0.5), x.dtype)))
    else:
        cube = w.node("Mul", w.node("Pow", x, w.as_type(3.0, x.dtype)), w.as_type(0.044715, x.dtype))
        inner = w.node("Tanh", w.node("Mul", w.node("Add", x, cube), w.as_type(math.sqrt(2 / math.pi), x.dtype)))
    return w.node("Mul", w.node("Mul", x, w.node("Add", inner, one)), half)


@writes("logical_not", "bitwise_not")
def negate(w: ModelWriter, x: Any) -> Any:
    if x.dtype is not minitorch.bool:
        raise refuse(f"{w.call.op} of {x.dtype}")
    return w.node("Not", x)


@writes("logical_and", "bitwise_and", "logical_or", "bitwise_or")
def combine(w: ModelWriter, x: Any, y: Any) -> Any:
    if promoted(x, y) is not minitorch.bool:
        raise refuse(f"{w.call.op} of other types than bool")
    return w.node("And" if w.call.op.endswith("and") else "Or", x, y)


@writes("_where")
def where(w: ModelWriter, condition: Any, x: Any, y: Any) -> Any:
    kind = w.call.outputs[0].dtype
    return w.node("Where", condition, w.as_type(x, kind), w.as_type(y, kind))


@writes("fill_where")
def fill_where(w: ModelWriter, x: Any, mask: Any, value: Any) -> Any:
    return w.node("Where", mask, w.as_type(value, w.call.outputs[0].dtype), x)


@writes("to_copy")
def to_copy(w: ModelWriter, x: Any, kind: Any, _: Any) -> Any:
    return w.name(w.as_type(x, w.call.outputs[0].dtype))


@writes("clone", "alias")
def unchanged(w: ModelWriter, x: Any, *_: Any) -> Any:
    return w.name(x)


# Products


@writes("mm", "bmm", "mv", "dot")
def matmul(w: ModelWriter, x: Any, y: Any) -> Any:
    return w.node("MatMul", x, y)


@writes("addmm")
def addmm(w: ModelWriter, bias: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    """Gemm; a weight that was transposed for it is written as the parameter that it is, with transB."""
    options: dict[str, Any] = {name: float(each) for name, each in (("alpha", alpha), ("beta", beta)) if each != 1}
    base: Any = getattr(y, "_base", None)
    if id(base) in w.parameters and (base.shape[::-1], base.stride()[::-1]) == (y.shape, y.stride()):
        return w.node("Gemm", x, base, bias, transB=1, **options)
    return w.node("Gemm", x, y, bias, **options)


# Layers


@writes("convolution")
def convolution(w: ModelWriter, x: Any, weight: Any, bias: Any, geometry: Any) -> Any:
    return w.node(
        "Conv",
        x,
        weight,
        bias,
        kernel_shape=weight.shape[2:],
        strides=geometry.stride,
        pads=(*geometry.padding, *geometry.padding),
        dilations=geometry.dilation,
        group=geometry.groups,
    )


def pool_attributes(windows: Any) -> dict[str, Any]:
    """Those that both pools have. More windows than fit whole mean `ceil_mode`."""
    fit = []
    for n, k, s, p, d in zip(*windows[:5], strict=True):
        fit.append(0 if isinstance(n, Open) else (n + 2 * p - d * (k - 1) - 1) // s + 1)
    more = any(not isinstance(count, Open) and count > n for count, n in zip(windows.output, fit, strict=True))
    pads = (*windows.padding, *windows.padding)
    ceil = {"ceil_mode": 1} if more else {}
    return {"kernel_shape": windows.kernel, "strides": windows.stride, "pads": pads, **ceil}


@writes("max_pool", "largest")
def max_pool(w: ModelWriter, x: Any, windows: Any) -> Any:
    count = len(w.call.outputs)  # with the places, or without
    return w.node("MaxPool", x, results=count, dilations=windows.dilation, **pool_attributes(windows))


@writes("avg_pool")
def avg_pool(w: ModelWriter, x: Any, windows: Any, count_include_pad: bool, divisor: Any) -> Any:
    if divisor is not None:
        raise refuse("avg_pool with a divisor")
    return w.node("AveragePool", x, count_include_pad=int(count_include_pad), **pool_attributes(windows))


@writes("standardize_with")
def batch_norm(w: ModelWriter, x: Any, weight: Any, bias: Any, mean: Any, var: Any, _: Any, eps: float) -> Any:
    weight = minitorch.ones_like(mean) if weight is None else weight
    bias = minitorch.zeros_like(mean) if bias is None else bias
    return w.node("BatchNormalization", x, weight, bias, mean, var, epsilon=float(eps))


@writes("normalize_over")
def layer_norm(w: ModelWriter, x: Any, weight: Any, bias: Any, _: Any, over: Any) -> Any:
    if over.node != "NativeLayerNormBackward0":
        raise refuse(over.node.removeprefix("Native").removesuffix("Backward0"))
    shape = [x.shape[axis] for axis in over.axes]
    weight = minitorch.ones(shape, dtype=x.dtype) if weight is None else weight
    return w.node("LayerNormalization", x, weight, bias, axis=min(over.axes), epsilon=float(over.eps))


@writes("_softmax")
def softmax(w: ModelWriter, x: Any, dim: int) -> Any:
    return w.node("Softmax", x, axis=dim)


@writes("_log_softmax")
def log_softmax(w: ModelWriter, x: Any, dim: int) -> Any:
    return w.node("LogSoftmax", x, axis=dim)


@writes("embedding_rows")
def embedding(w: ModelWriter, weight: Any, indices: Any, *_: Any) -> Any:
    return w.node("Gather", weight, indices, axis=0)


# Reductions


def dims_of(dim: Any, ndim: int) -> list[int]:
    """Dimensions as a list; none named means all."""
    if dim is None or dim == () or dim == []:
        return list(range(ndim))
    return [dim] if isinstance(dim, int) else list(dim)


@writes("sum", "mean", "amax", "amin", "prod")
def reduce(w: ModelWriter, x: Any, dim: Any = None, keepdim: bool = False, *_: Any) -> Any:
    kind = {"sum": "Sum", "mean": "Mean", "amax": "Max", "amin": "Min", "prod": "Prod"}[w.call.op]
    axes = w.ints(*dims_of(dim, x.ndim))
    return w.node(f"Reduce{kind}", w.as_type(x, w.call.outputs[0].dtype), axes, keepdims=int(keepdim))


@writes("argmax", "argmin")
def extreme_place(w: ModelWriter, x: Any, dim: Any, keepdim: bool) -> Any:
    kind = "ArgMax" if w.call.op == "argmax" else "ArgMin"
    if dim is None:
        return w.node(kind, w.node("Reshape", x, w.ints(-1)), axis=0, keepdims=0)
    return w.node(kind, x, axis=dim, keepdims=int(keepdim))


@writes("variance")
def variance(w: ModelWriter, x: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    """The mean of squared distances; the correction changes what their sum is divided by."""
    dims = dims_of(dim, x.ndim)
    axes, lengths = w.ints(*dims), [x.shape[each] for each in dims]
    if any(isinstance(each, Open) for each in lengths):
        raise refuse("a variance over an open length")
    distance = w.node("Sub", x, w.node("ReduceMean", x, axes, keepdims=1))
    total = w.node("ReduceSum", w.node("Mul", distance, distance), axes, keepdims=int(keepdim))
    return w.node("Div", total, w.as_type(math.prod(lengths) - correction, x.dtype))
