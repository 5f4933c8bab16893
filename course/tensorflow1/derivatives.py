"""How gradients are built: for each type the nodes that turn the gradient of a result into those of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from course.tensorflow1.graph import Operation, Tensor
from course.tensorflow1.operations import (
    build,
    cos,
    divide,
    greater,
    greater_equal,
    less,
    log,
    matmul,
    multiply,
    sin,
    transpose,
    where,
    zeros_like,
)

Formula = Callable[[Tensor, Tensor, Tensor], Tensor]

GRADIENTS: dict[str, Callable[[Operation, Tensor], Sequence[Tensor | None]]] = {
    "MatMul": lambda op, g: [matmul(g, transpose(op.inputs[1])), matmul(transpose(op.inputs[0]), g)],
    "Transpose": lambda op, g: [transpose(g)],
    "Reshape": lambda op, g: [build("ReshapeLike", [g, op.inputs[0]], "ReshapeLike")],
    "AddN": lambda op, g: [g] * len(op.inputs),
    "Sum": lambda op, g: [spread(g, op)],
    "Mean": lambda op, g: [spread(g, op) / build("CountPerResult", [op.inputs[0], g], "CountPerResult")],
    "Select": lambda op, g: [
        None,
        like(where(op.inputs[0], g, zeros_like(g)), op.inputs[1]),
        like(where(op.inputs[0], zeros_like(g), g), op.inputs[2]),
    ],
}
"""`gradient(op, grad)` builds the gradients of the inputs, None where there is none."""


def like(grad: Tensor, x: Tensor) -> Tensor:
    """A gradient summed over what `x` was broadcast to."""
    return build("SumToShapeOf", [grad, x], "SumToShapeOf")


def spread(grad: Tensor, op: Operation) -> Tensor:
    """The gradient of a reduction, at each element that it reduced."""
    return build("BroadcastToShapeOf", [grad, op.inputs[0]], "BroadcastToShapeOf", axis=op.attributes["axis"])


def one_minus(x: Tensor) -> Tensor:
    """1 - x."""
    return build("Sub", [1.0, x], "sub")


def single(type: str, derivative: Formula) -> None:
    """Declare the gradient of a function of one tensor: a formula of gradient, input and result."""
    GRADIENTS[type] = lambda op, grad: [derivative(grad, op.inputs[0], op.outputs[0])]


def pair(type: str, first: Formula, second: Formula) -> None:
    """Declare the gradients of a function of two tensors: formulas of gradient and inputs."""

    def gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
        x, y = op.inputs
        return [like(first(grad, x, y), x), like(second(grad, x, y), y)]

    GRADIENTS[type] = gradient


pair("AddV2", lambda g, x, y: g, lambda g, x, y: g)
pair("Sub", lambda g, x, y: g, lambda g, x, y: -g)
pair("Mul", lambda g, x, y: g * y, lambda g, x, y: g * x)
pair("RealDiv", lambda g, x, y: g / y, lambda g, x, y: -(g * x) / (y * y))
pair("Pow", lambda g, x, y: g * y * x ** (y - 1.0), lambda g, x, y: g * x**y * log(x))
pair(
    "Maximum",
    lambda g, x, y: where(greater_equal(x, y), g, zeros_like(g)),
    lambda g, x, y: where(greater_equal(x, y), zeros_like(g), g),
)
single("Neg", lambda g, x, y: -g)
single("Exp", lambda g, x, y: g * y)
single("Log", lambda g, x, y: g / x)
single("Sqrt", lambda g, x, y: divide(g, y * 2.0))
single("Square", lambda g, x, y: multiply(g, x * 2.0))
single("Sin", lambda g, x, y: g * cos(x))
single("Cos", lambda g, x, y: -(g * sin(x)))
single("Tanh", lambda g, x, y: multiply(g, one_minus(y * y)))
single("Sigmoid", lambda g, x, y: multiply(g * y, one_minus(y)))
single("Relu", lambda g, x, y: where(greater(x, 0.0), g, zeros_like(g)))
single("Abs", lambda g, x, y: where(greater(x, 0.0), g, where(less(x, 0.0), -g, zeros_like(g))))
single("Identity", lambda g, x, y: g)
