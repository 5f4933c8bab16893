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
def _softmax(out: Array, x: Array) -> bool:
    for i in range(len(x)):
        row = out[i]
        subtract_maximum(row, x[i])
        exp(row, row)
        scale = row.dtype.type(1) / add(row, row.dtype.type(0))
        for j in range(row.size):
            row[j] *= scale
    return True


@compiled
def _log_softmax(out: Array, x: Array) -> bool:
    powers = np.empty_like(x[0])
    total = np.empty(1, x.dtype)
    for i in range(len(x)):
        row = out[i]
        subtract_maximum(row, x[i])
        exp(row, powers)
        total[0] = add(powers, row.dtype.type(0))
        log(total, total)
        for j in range(row.size):
            row[j] -= total[0]
    return True


@compiled
def _softmax_gradient(out: Array, grad: Array, y: Array) -> bool:
    for i in range(len(grad)):
        row = out[i]
        for j in range(row.size):
            row[j] = grad[i, j] * y[i, j]
        total = add(row, row.dtype.type(0))
        for j in range(row.size):
            row[j] = (grad[i, j] - total) * y[i, j]
    return True


@compiled
def _log_softmax_gradient(out: Array, grad: Array, y: Array) -> bool:
    for i in range(len(grad)):
        row = out[i]
        exp(y[i], row)
        total = add(grad[i], row.dtype.type(0))
        for j in range(row.size):
            row[j] = grad[i, j] - row[j] * total
    return True
