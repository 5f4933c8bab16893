"""Sums whose error grows slowly, and which run at the speed of products of matrices."""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.dtypes import FLOATING, float32
from minitorch.dtypes import dtype as DType


def add_up(xp: Any, array: Array, dims: tuple[int, ...], keepdim: bool, kind: DType) -> Array:
    """Σ over `dims`, computed in `kind`; in float32 where that is a two-byte float, and not rounded back.

    The error of a float sum grows with log n, not n: NumPy adds up pairwise, except over leading dimensions; there a
    product with a row of ones, in blocks, does it, which also is faster. So are large arrays' products with a column of
    ones for the sums over trailing dimensions.
    """
    kind = float32 if kind.is_low_precision else kind
    array = array if array.dtype == kind.numpy else array.astype(kind.numpy)
    kept = array.ndim - len(dims)
    if kind.category != FLOATING or not array.flags.c_contiguous:
        return xp.add.reduce(array, dims if kept else None, kind.numpy, None, keepdim)
    if array.size >= LARGE and (kept == 0 or array.ndim - 1 in dims):
        return _trailing_sums(xp, array, dims, keepdim, kind)
    if kept and dims and dims == tuple(range(len(dims))):
        shape = array.shape[len(dims) :]
        rows, columns = math.prod(array.shape[: len(dims)]), math.prod(shape)
        if rows and columns > 1:
            total = _column_sums(xp, array.reshape(rows, columns))
            return total.reshape((1,) * len(dims) + shape if keepdim else shape)
    return xp.add.reduce(array, dims if kept else None, kind.numpy, None, keepdim)


_BLOCK = 128
LARGE = 2**13
_LONG = 2**12
"""Longer rows are added up pairwise: a product's error grows with their length."""


def _trailing_sums(xp: Any, array: Array, dims: tuple[int, ...], keepdim: bool, kind: DType) -> Array:
    """Sums over `dims`, of which the last dimensions are some: over these first, then over the others."""
    first = array.ndim
    while first - 1 in dims:
        first -= 1
    rows = array.reshape(-1, math.prod(array.shape[first:]))
    if first == 0:
        whole = array.size // _LONG * _LONG
        flat = array.reshape(-1)
        blocks = xp.dot(flat[:whole].reshape(-1, _LONG), xp.ones(_LONG, array.dtype))
        sums = xp.asarray(blocks.sum() + flat[whole:].sum())
    elif 1 < rows.shape[1] <= _LONG:
        sums = xp.dot(rows, xp.ones(rows.shape[1], array.dtype))
    else:
        sums = rows.sum(1)
    sums = sums.reshape(array.shape[:first])
    others = tuple(d for d in dims if d < first)
    sums = add_up(xp, sums, others, False, kind) if others else sums
    return sums.reshape([1 if d in dims else n for d, n in enumerate(array.shape)]) if keepdim else sums


def _column_sums(xp: Any, matrix: Array) -> Array:
    rows, columns = matrix.shape
    if rows < 2 * _BLOCK:
        return xp.dot(xp.ones(rows, matrix.dtype), matrix)
    full = rows // _BLOCK * _BLOCK
    blocks = xp.matmul(xp.ones((1, _BLOCK), matrix.dtype), matrix[:full].reshape(-1, _BLOCK, columns))
    total = _column_sums(xp, blocks.reshape(-1, columns))
    return total if full == rows else total + _column_sums(xp, matrix[full:])
