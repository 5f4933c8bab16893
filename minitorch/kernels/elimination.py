"""Gaussian elimination with partial pivoting, of batches of matrices (…, n, m): most of it products of matrices.

Toledo 1997, "Locality of reference in LU decomposition with partial pivoting", doi:10.1137/S0895479896297744
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array

_PANEL = 32
"""Columns that are eliminated one by one; more of them in halves, so that most of the work is products of matrices."""


def eliminated(xp: Any, A: Array) -> tuple[Array, Array, Array]:
    """Gaussian elimination with partial pivoting: L below and U above the diagonal, the row that each step swapped in,
    and the number, from one, of the first column without a pivot, or zero."""
    rows, columns = A.shape[-2:]
    steps = min(rows, columns)
    lu = xp.array(A, order="C").reshape(math.prod(A.shape[:-2]), rows, columns)
    pivots = xp.zeros((len(lu), steps), "int32")
    _eliminate(xp, lu, pivots)
    empty = xp.diagonal(lu, axis1=1, axis2=2) == 0
    info = xp.where(empty.any(1), empty.argmax(1) + 1, 0) if steps else xp.zeros(len(lu))
    batch = A.shape[:-2]
    return lu.reshape(A.shape), (pivots + 1).reshape(*batch, steps), info.reshape(batch).astype("int32")


def _eliminate(xp: Any, A: Array, pivots: Array) -> Array:
    """Turns (batch, rows, columns) into L and U in place, fills in the rows swapped, and returns the rows' order."""
    rows, columns = A.shape[1:]
    if columns <= _PANEL or rows <= 1:
        return _eliminate_columns(xp, A, pivots)
    half = min(columns // 2, rows)
    left, right = A[:, :, :half], A[:, :, half:]
    order = _eliminate(xp, left, pivots[:, :half])
    right[...] = _ordered(xp, right, order)
    _substitute(xp, left[:, :half], right[:, :half])
    if half < rows:
        right[:, half:] -= left[:, half:] @ right[:, :half]
        later = half + _eliminate(xp, right[:, half:], pivots[:, half:])
        pivots[:, half:] += half
        left[:, half:] = _ordered(xp, left, later)
        order[:, half:] = _ordered(xp, order, later)
    return order


def _ordered(xp: Any, rows: Array, order: Array) -> Array:
    return rows[xp.arange(len(order))[:, None], order]


def _eliminate_columns(xp: Any, A: Array, pivots: Array) -> Array:
    count, rows, columns = A.shape
    turned = A.swapaxes(1, 2).copy()  # a column's elements are neighbours
    order = xp.tile(xp.arange(rows), (count, 1))
    for k in range(min(rows, columns)):
        column = turned[:, k, k:]
        chosen = k + (abs(column.real) + abs(column.imag)).argmax(1)  # as LAPACK measures complex numbers
        pivots[:, k] = chosen
        _swap(xp, order[:, None], k, chosen)
        _swap(xp, turned, k, chosen)
        pivot = turned[:, k, k, None]
        turned[:, k, k + 1 :] /= pivot + (pivot == 0)
        turned[:, k + 1 :, k + 1 :] -= turned[:, k + 1 :, k, None] * turned[:, k, None, k + 1 :]
    A[...] = turned.swapaxes(1, 2)
    return order


def _swap(xp: Any, array: Array, k: int, chosen: Array) -> None:
    """Exchanges the columns k and `chosen` of each matrix."""
    batch, place = (0, int(chosen[0])) if len(chosen) == 1 else (xp.arange(len(chosen)), chosen)
    above = array[:, :, k].copy()
    array[:, :, k] = array[batch, :, place]
    array[batch, :, place] = above


def _substitute(xp: Any, lower: Array, right: Array) -> None:
    """Solves for what the triangle below `lower`'s diagonal, with ones on it, times X makes `right`, in place."""
    size = lower.shape[-1]
    if size <= _PANEL:
        right[...] = xp.linalg.inv(xp.tril(lower, -1) + xp.eye(size, dtype=lower.dtype)) @ right
        return
    half = size // 2
    _substitute(xp, lower[:, :half, :half], right[:, :half])
    right[:, half:] -= lower[:, half:, :half] @ right[:, :half]
    _substitute(xp, lower[:, half:, half:], right[:, half:])


def permutation(xp: Any, pivots: Array, rows: int) -> Array:
    """The matrices P of swaps, with A = P L U."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = xp.tile(xp.arange(rows), (len(flat), 1))
    for k in range(flat.shape[1]):
        _swap(xp, order[:, None], k, flat[:, k] - 1)
    return xp.ascontiguousarray(xp.swapaxes(xp.eye(rows)[order], -1, -2)).reshape(*pivots.shape[:-1], rows, rows)
