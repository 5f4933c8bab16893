"""The functions that add nodes to a graph, and the operators of symbolic tensors.

Source of the names: https://www.tensorflow.org/api_docs/python/tf/compat/v1/math
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import minitorch as torch
from course.tensorflow1.errors import OperatorNotAllowedInGraphError
from course.tensorflow1.graph import Graph, Operation, Tensor, get_default_graph
from course.tensorflow1.kernels import is_pure, run_kernel

Symbolic = Callable[..., Tensor]


def convert(value: Any, name: str = "Const") -> Tensor:
    """A symbolic tensor: itself, what a variable holds, or a constant."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "read"):
        read: Tensor = value.read
        return read
    return constant(value, name=name)


def build(type: str, values: Sequence[Any], name: str, operands: str = "x y", **attributes: Any) -> Tensor:
    """A node of this type, whose inputs are converted to constants, in its scope, where that is needed."""
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        inputs = [convert(value, operand) for value, operand in zip(values, operands.split(), strict=False)]
        op = graph.create_op(type, inputs, scope, attributes)
    return with_example(op.outputs[0])


def with_example(tensor: Tensor) -> Tensor:
    """The tensor, with the value for the example of a trace, if its inputs have one."""
    op = tensor.op
    if op.graph.is_traced and is_pure(op) and all(each.example is not None for each in op.inputs):
        with torch.no_grad():
            tensor.example = run_kernel(op, [each.example for each in op.inputs])
    return tensor


def constant(value: Any, dtype: Any = None, name: str = "Const") -> Tensor:
    """A node that always has this value."""
    made = value.detach() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)
    graph: Graph = get_default_graph()
    tensor = graph.create_op("Const", (), name, {"value": made}).outputs[0]
    tensor.example = made
    return tensor


def placeholder(dtype: Any, shape: Sequence[int | None] | None = None, name: str = "Placeholder") -> Tensor:
    """A node whose value each run is given; a None in the shape stands for any length."""
    wanted = None if shape is None else tuple(shape)
    return get_default_graph().create_op("Placeholder", (), name, {"dtype": dtype, "shape": wanted}).outputs[0]


def _function(type: str, name: str, count: int, text: str) -> Symbolic:
    def function(*values: Any, name: str = name) -> Tensor:
        if len(values) != count:
            raise TypeError(f"{type} takes {count} tensors, got {len(values)}")
        return build(type, values, name)

    function.__name__ = function.__qualname__ = name.lower()
    function.__doc__ = text
    return function


add = _function("AddV2", "Add", 2, "A node for x + y.")
subtract = _function("Sub", "Sub", 2, "A node for x - y.")
multiply = _function("Mul", "Mul", 2, "A node for x · y, element by element.")
divide = _function("RealDiv", "truediv", 2, "A node for x / y.")
maximum = _function("Maximum", "Maximum", 2, "A node for the larger of two; of equals the first gets the gradient.")
greater = _function("Greater", "Greater", 2, "A node for x > y.")
less = _function("Less", "Less", 2, "A node for x < y.")
greater_equal = _function("GreaterEqual", "GreaterEqual", 2, "A node for x ≥ y.")
less_equal = _function("LessEqual", "LessEqual", 2, "A node for x ≤ y.")
negative = _function("Neg", "Neg", 1, "A node for -x.")
exp = _function("Exp", "Exp", 1, "A node for eˣ.")
log = _function("Log", "Log", 1, "A node for the natural logarithm.")
sqrt = _function("Sqrt", "Sqrt", 1, "A node for the square root.")
square = _function("Square", "Square", 1, "A node for x².")
sin = _function("Sin", "Sin", 1, "A node for the sine.")
cos = _function("Cos", "Cos", 1, "A node for the cosine.")
tanh = _function("Tanh", "Tanh", 1, "A node for the hyperbolic tangent.")
sigmoid = _function("Sigmoid", "Sigmoid", 1, "A node for 1 / (1 + e⁻ˣ).")
relu = _function("Relu", "Relu", 1, "A node for max(x, 0).")
abs = _function("Abs", "Abs", 1, "A node for |x|.")
identity = _function("Identity", "Identity", 1, "A node that passes its input on.")
stop_gradient = _function("StopGradient", "StopGradient", 1, "A node that passes its input on, and no gradient back.")
zeros_like = _function("ZerosLike", "zeros_like", 1, "A node for zeros of the shape of x.")
ones_like = _function("OnesLike", "ones_like", 1, "A node for ones of the shape of x.")
transpose = _function("Transpose", "transpose", 1, "A node for the transposed matrix.")


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str = "MatMul") -> Tensor:
    """A node for the product of two matrices, either of them transposed first if wanted."""
    left = transpose(a) if transpose_a else a
    return build("MatMul", [left, transpose(b) if transpose_b else b], name, "a b")


def where(condition: Any, x: Any, y: Any, name: str = "Select") -> Tensor:
    """A node for x where the condition holds and y elsewhere."""
    return build("Select", [condition, x, y], name, "condition x y")


def reduce_sum(x: Any, axis: int | None = None, name: str = "Sum") -> Tensor:
    """A node for the sum, of all elements or along a dimension."""
    return build("Sum", [x], name, axis=axis)


def reduce_mean(x: Any, axis: int | None = None, name: str = "Mean") -> Tensor:
    """A node for the mean, of all elements or along a dimension."""
    return build("Mean", [x], name, axis=axis)


def reshape(x: Any, shape: Sequence[int], name: str = "Reshape") -> Tensor:
    """A node for the elements in another shape."""
    return build("Reshape", [x], name, shape=tuple(shape))


def add_n(inputs: Sequence[Tensor], name: str = "AddN") -> Tensor:
    """A node for the sum of several tensors of one shape."""
    return build("AddN", inputs, name, " ".join(f"inputs_{place}" for place in range(len(inputs))))


def no_op(name: str = "NoOp") -> Operation:
    """A node that does nothing, for others to come before it."""
    return get_default_graph().create_op("NoOp", (), name, outputs=0)


def group(*inputs: Any, name: str = "group_deps") -> Operation:
    """A node that does nothing, after all of these."""
    with get_default_graph().control_dependencies(inputs):
        return no_op(name)


def _operator(type: str, name: str, reverse: bool) -> Callable[[Tensor, Any], Tensor]:
    def method(x: Tensor, other: Any) -> Tensor:
        with x.graph.as_default():
            return build(type, (other, x) if reverse else (x, other), name)

    return method


def _method(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with x.graph.as_default():
            return function(x, *args, **kwargs)

    return method


def _ask(what: str, answer: Callable[[Any], Any]) -> Callable[[Tensor], Any]:
    def method(x: Tensor) -> Any:
        if not x.graph.is_traced or x.example is None:
            raise OperatorNotAllowedInGraphError(f"{what} is not allowed: it has a value only while a session runs.")
        text = f"{what} might cause the trace to be incorrect: the graph keeps what holds for the example."
        warnings.warn(text, torch.jit.TracerWarning, stacklevel=2)
        return answer(x.example)

    return method


def install() -> None:
    """Give symbolic tensors their operators, and the methods that minitorch's tensors have."""
    cls: Any = Tensor
    arithmetic = {"add": "AddV2", "sub": "Sub", "mul": "Mul", "truediv": "RealDiv", "pow": "Pow", "matmul": "MatMul"}
    for name, type in arithmetic.items():
        setattr(cls, f"__{name}__", _operator(type, name, False))
        setattr(cls, f"__r{name}__", _operator(type, name, True))
    for name, type in {"gt": "Greater", "lt": "Less", "ge": "GreaterEqual", "le": "LessEqual"}.items():
        setattr(cls, f"__{name}__", _operator(type, type, False))
    cls.__neg__ = _method(negative)
    for function in (exp, log, sqrt, square, sin, cos, tanh, sigmoid, relu, abs, matmul, reshape):
        setattr(cls, function.__name__, _method(function))
    cls.sum, cls.mean, cls.t = _method(reduce_sum), _method(reduce_mean), _method(transpose)
    cls.__bool__ = _ask("Using a symbolic `tf.Tensor` as a Python `bool`", bool)
    cls.__iter__ = _ask("Iterating over a symbolic `tf.Tensor`", iter)
    cls.__float__ = _ask("Using a symbolic `tf.Tensor` as a Python `float`", float)
    cls.item = _ask("Using a symbolic `tf.Tensor` as a Python number", lambda example: example.item())


install()
