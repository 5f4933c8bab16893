"""What operations compute: for each type a kernel on minitorch's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minitorch as torch
from course.tensorflow1.errors import InvalidArgumentError
from course.tensorflow1.graph import Operation

STATEFUL = {"Placeholder", "VariableV2", "RandomUniform", "RandomStandardNormal", "Assign", "AssignAdd", "AssignSub"}
STATEFUL |= {"ApplyGradientDescent", "NoOp", "Cond", "While", "LoopVariable"}
"""Types whose result is not a matter of the inputs alone: they are not folded."""

SINGLE: dict[str, Callable[[Any], Any]] = {
    "Neg": torch.neg,
    "Exp": torch.exp,
    "Log": torch.log,
    "Sqrt": torch.sqrt,
    "Square": torch.square,
    "Sin": torch.sin,
    "Cos": torch.cos,
    "Tanh": torch.tanh,
    "Sigmoid": torch.sigmoid,
    "Relu": torch.relu,
    "Abs": torch.abs,
    "ZerosLike": torch.zeros_like,
    "OnesLike": torch.ones_like,
    "Identity": lambda x: x,
    "StopGradient": lambda x: x,
    "Transpose": lambda x: x.t(),
}
PAIR: dict[str, Callable[[Any, Any], Any]] = {
    "AddV2": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "RealDiv": torch.div,
    "Pow": torch.pow,
    "MatMul": torch.matmul,
    "Maximum": torch.maximum,
    "Greater": torch.gt,
    "Less": torch.lt,
    "GreaterEqual": torch.ge,
    "LessEqual": torch.le,
    "SumToShapeOf": lambda grad, x: grad.sum_to_size(x.shape),
    "ReshapeLike": lambda grad, x: grad.reshape(x.shape),
    "CountPerResult": lambda x, y: torch.tensor(x.numel() / max(1, y.numel()), dtype=y.dtype),
}
KERNELS: dict[str, Callable[..., Any]] = {
    "Const": lambda op: op.attributes["value"],
    "NoOp": lambda op: None,
    "Sum": lambda op, x: x.sum() if op.attributes["axis"] is None else x.sum(op.attributes["axis"]),
    "Mean": lambda op, x: x.mean() if op.attributes["axis"] is None else x.mean(op.attributes["axis"]),
    "AddN": lambda op, first, *others: sum(others, first),
    "Select": lambda op, condition, x, y: torch.where(condition, x, y),
    "Reshape": lambda op, x: x.reshape(op.attributes["shape"]),
    "BroadcastToShapeOf": lambda op, grad, x: put_back(grad, op.attributes["axis"], x).expand(x.shape),
    "RandomUniform": lambda op: torch.empty(op.attributes["shape"]).uniform_(*op.attributes["bounds"]),
    "RandomStandardNormal": lambda op: torch.empty(op.attributes["shape"]).normal_(*op.attributes["bounds"]),
}
"""`kernel(op, *values)`, where attributes count."""


def is_pure(op: Operation) -> bool:
    """Whether equal inputs give equal results."""
    return op.type not in STATEFUL


def run_kernel(op: Operation, values: Sequence[Any]) -> Any:
    """The value of an operation's result. Raises InvalidArgumentError, naming the node, for values that don't fit."""
    try:
        if op.type in KERNELS:
            return KERNELS[op.type](op, *values)
        return (SINGLE if op.type in SINGLE else PAIR)[op.type](*values)
    except (RuntimeError, IndexError, TypeError) as error:
        raise InvalidArgumentError(f"{error}\n\t [[node {op.name}]]") from error


def put_back(grad: Any, axis: int | None, x: Any) -> Any:
    """A gradient with the dimension that a reduction of `x` took away, of length 1."""
    return grad if axis is None else grad.unsqueeze(axis % x.dim())
