"""The loops of `kernels/softmax.py`, row by row."""

from __future__ import annotations

import numpy as np

from minitorch.arrays import Array
from minitorch.arrays.loops import have_rows
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.inner import add, exp, log, maximum
from minitorch.kernels.loops.threads import by_parts


def softmax(axis: int, out: Array, x: Array) -> bool:
    """exp(x − max x) / Σ exp(x − max x)."""
    return axis == -1 and have_rows(out, x) and by_parts(_softmax, (out, x))


def log_softmax(axis: int, out: Array, x: Array) -> bool:
    """x − max x − ln Σ exp(x − max x)."""
    return axis == -1 and have_rows(out, x) and by_parts(_log_softmax, (out, x))


def softmax_gradient(axis: int, out: Array, grad: Array, y: Array) -> bool:
    """y (grad − Σ grad · y)."""
    return axis == -1 and have_rows(out, grad, y) and by_parts(_softmax_gradient, (out, grad, y))


def log_softmax_gradient(axis: int, out: Array, grad: Array, y: Array) -> bool:
    """grad − exp(y) Σ grad."""
    return axis == -1 and have_rows(out, grad, y) and by_parts(_log_softmax_gradient, (out, grad, y))


@compiled
def subtract_maximum(row: Array, x: Array) -> None:
    largest = maximum(x[1:], x[0])
    for j in range(x.size):
        row[j] = x[j] - largest


@compiled
def softmax_row(x: Array, row: Array) -> None:
    subtract_maximum(row, x)
    exp(row, row)
    scale = row.dtype.type(1) / add(row, row.dtype.type(0))
    for j in range(row.size):
        row[j] *= scale


@compiled
def _softmax(out: Array, x: Array) -> bool:
    for i in range(len(x)):
        softmax_row(x[i], out[i])
    return True


@compiled
def log_softmax_row(x: Array, row: Array, powers: Array) -> None:
    subtract_maximum(row, x)
    exp(row, powers)
    total = powers[:1]
    total[0] = add(powers, row.dtype.type(0))
    log(total, total)
    for j in range(row.size):
        row[j] -= total[0]


@compiled
def _log_softmax(out: Array, x: Array) -> bool:
    powers = np.empty_like(x[0])
    for i in range(len(x)):
        log_softmax_row(x[i], out[i], powers)
    return True


@compiled
def softmax_gradient_row(grad: Array, y: Array, row: Array) -> None:
    for j in range(row.size):
        row[j] = grad[j] * y[j]
    total = add(row, row.dtype.type(0))
    for j in range(row.size):
        row[j] = (grad[j] - total) * y[j]


@compiled
def _softmax_gradient(out: Array, grad: Array, y: Array) -> bool:
    for i in range(len(grad)):
        softmax_gradient_row(grad[i], y[i], out[i])
    return True


@compiled
def log_softmax_gradient_row(grad: Array, y: Array, row: Array) -> None:
    exp(y, row)
    total = add(grad, row.dtype.type(0))
    for j in range(row.size):
        row[j] = grad[j] - row[j] * total


@compiled
def _log_softmax_gradient(out: Array, grad: Array, y: Array) -> bool:
    for i in range(len(grad)):
        log_softmax_gradient_row(grad[i], y[i], out[i])
    return True
