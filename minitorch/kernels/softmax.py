"""Softmax along a dimension, for blocks of rows that stay in the processor's cache.

Each formula writes its result into `out`, which is also the memory that it computes in.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.blocks import in_row_blocks
from minitorch.arrays.kernel import on_gpu
from minitorch.arrays.loops import on_cpu


def _rows(array: Array) -> Array:
    """The array as a matrix with the same last dimension."""
    return array if array.ndim == 2 else array.reshape(-1, array.shape[-1])


def by_rows(xp: Any, dim: int, compute: Any, *arrays: Array) -> Array:
    """Has `compute(xp, axis, out, *arrays)` write its result along `dim`, for rows of matrices if it is the last."""
    first = arrays[0]
    dim %= max(first.ndim, 1)
    if not first.ndim:
        return by_rows(xp, 0, compute, *(each.reshape(1) for each in arrays)).reshape(())
    if dim == first.ndim - 1 or first.size == 0:
        out = xp.empty(first.shape, first.dtype)
        if first.size:
            compute(xp, -1, *(_rows(each) for each in (out, *arrays)))
        return out
    out = xp.empty(first.shape, first.dtype)
    compute(xp, dim, out, *arrays)
    return out


def _by_row(axis: int, out: Array, *arrays: Array) -> tuple[int, tuple[Any, ...]]:
    """A block of threads for each row of `softmax.cu`."""
    length = out.shape[axis]
    return out.size // length, (out, *arrays, length, math.prod(out.shape[axis % out.ndim + 1 :]))


@on_gpu("softmax.cu", _by_row)
@on_cpu("softmax")
@in_row_blocks
def softmax(xp: Any, axis: int, out: Array, x: Array) -> None:
    """exp(x − max x) / Σ exp(x − max x): the maximum keeps the exponentials from overflowing."""
    xp.subtract(x, x.max(axis=axis, keepdims=True), out=out)
    xp.exp(out, out=out)
    out *= 1 / out.sum(axis=axis, keepdims=True)


@on_gpu("softmax.cu", _by_row)
@on_cpu("softmax")
@in_row_blocks
def log_softmax(xp: Any, axis: int, out: Array, x: Array) -> None:
    """x − max x − ln Σ exp(x − max x)."""
    xp.subtract(x, x.max(axis=axis, keepdims=True), out=out)
    out -= xp.log(xp.exp(out).sum(axis=axis, keepdims=True))


@on_gpu("softmax.cu", _by_row)
@on_cpu("softmax")
@in_row_blocks
def softmax_gradient(xp: Any, axis: int, out: Array, grad: Array, y: Array) -> None:
    """y (grad − Σ grad · y), y being the softmax."""
    xp.multiply(grad, y, out=out)
    xp.subtract(grad, out.sum(axis=axis, keepdims=True), out=out)
    out *= y


@on_gpu("softmax.cu", _by_row)
@on_cpu("softmax")
@in_row_blocks
def log_softmax_gradient(xp: Any, axis: int, out: Array, grad: Array, y: Array) -> None:
    """grad − exp(y) Σ grad, y being the log-softmax."""
    xp.exp(y, out=out)
    out *= grad.sum(axis=axis, keepdims=True)
    xp.subtract(grad, out, out=out)
