"""Ops that go through rows, in a loop: it calls for each row what the loops of their kernels call for it.

So the order of summation is theirs, row by row and pairwise. A sum or mean that stands by itself has no such function,
because NumPy's facade multiplies a large matrix by a vector of ones there, and the BLAS adds up in an order of its own.
"""

from __future__ import annotations

from typing import Any, Final

from minitorch._inductor.steps import Step, Value

FILES: Final = {
    "softmax_row": "softmax", "log_softmax_row": "softmax", "softmax_gradient_row": "softmax",
    "log_softmax_gradient_row": "softmax", "normalize_row": "normalization",
}  # fmt: skip
"""In which file of `kernels/loops` each function of a row is: f(*operands, row), which writes into `row`."""

ALONG_A_DIMENSION: Final = {
    "_softmax": "softmax_row", "_log_softmax": "log_softmax_row", "softmax_backward": "softmax_gradient_row",
    "log_softmax_backward": "log_softmax_gradient_row",
}  # fmt: skip


def of_rows(step: Step) -> tuple[str, tuple[Any, ...]] | None:
    """The function that a step calls for each row of the last dimension, and its operands; None for other steps."""
    if step.is_tuple:
        return None
    shape = tuple(step.results[0].fake.shape)
    if step.op.name in ALONG_A_DIMENSION:
        *arrays, dim = step.args
        if shape and dim % len(shape) == len(shape) - 1 and all(_has_shape(each, shape) for each in arrays):
            return ALONG_A_DIMENSION[step.op.name], tuple(arrays)
    elif step.op.name == "normalize_over":
        x, weight, bias, _, over = step.args
        along = (over.shape, over.axes) == (shape, (len(shape) - 1,))
        if along and _has_shape(x, shape) and _has_shape(weight, shape[-1:]) and _has_shape(bias, shape[-1:]):
            return "normalize_row", (x, weight, bias, over.eps)
    return None


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, Value) and tuple(value.fake.shape) == shape
