"""L D Lᴴ of one symmetric or Hermitian matrix, which needn't be definite: D has blocks of one or two rows.

The pivots and the compact form are those of LAPACK's sytf2 and hetf2 for a lower triangle: a pivot is the row, from
one, that was swapped in, and negative, twice, for a block of two.
Source: Bunch and Kaufman 1977, doi:10.1090/S0025-5718-1977-0428694-0
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array

_ALPHA = (1 + math.sqrt(17)) / 8
"""How small a diagonal element may be beside its column: by this, elements grow as slowly in blocks of two."""


def factored(xp: Any, A: Array, hermitian: bool) -> tuple[Array, Array, int]:
    """D with L below its blocks, from the lower triangle of A; the pivots; the first zero pivot, from one, or 0."""
    n, info = len(A), 0
    turned = xp.conj if hermitian else xp.asarray
    matrix = xp.tril(A) + turned(xp.tril(A, -1)).T
    pivots = xp.zeros(n, "int32")
    k = 0
    while k < n:
        if hermitian:  # but for what rounding or the caller left there
            own = xp.arange(k, n)
            matrix[own, own] = matrix[own, own].real
        rows, chosen, is_zero = _pivot(matrix[k:, k:])
        info = info or (k + 1 if is_zero else 0)
        last, other = k + rows - 1, k + chosen
        pivots[k : k + rows] = other + 1 if rows == 1 else -(other + 1)
        matrix[k:, k:] = _swapped(_swapped(matrix[k:, k:], last - k, chosen).T, last - k, chosen).T
        block, below = matrix[k : k + rows, k : k + rows], matrix[k + rows :, k : k + rows].copy()
        if not is_zero:
            multiples = _divided(xp, below, block)
            matrix[k + rows :, k + rows :] -= multiples @ turned(below).T
            matrix[k + rows :, k : k + rows] = multiples
        k += rows
    return xp.tril(matrix), pivots, info


def solved(xp: Any, LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """The X with A X = B, (n, k), for the factors of A."""
    turned = xp.conj if hermitian else xp.asarray
    X, rows = B.copy(), pivots.tolist()
    steps, k = [], 0
    while k < len(rows):
        size = 1 if rows[k] > 0 else 2
        steps.append((slice(k, k + size), slice(k + size, None), k + size - 1, abs(rows[k]) - 1))
        k += size
    for here, below, one, other in steps:
        X[[one, other]] = X[[other, one]]
        X[below] -= LD[below, here] @ X[here]
        block = xp.tril(LD[here, here])
        block = block + turned(xp.tril(block, -1)).T
        X[here] = X[here] / block if len(block) == 1 else _divided(xp, X[here].T, block.T).T
    for here, below, one, other in reversed(steps):
        X[here] -= turned(LD[below, here]).T @ X[below]
        X[[one, other]] = X[[other, one]]
    return X


def _size(array: Array) -> Array:
    """|x|, as LAPACK measures complex numbers when it compares them."""
    return abs(array.real) + abs(array.imag)


def _pivot(matrix: Array) -> tuple[int, int, bool]:
    """How many rows the next block has, which row is to become its last one, and whether there is nothing but zeros."""
    first = float(_size(matrix[0, 0]))
    column = _size(matrix[1:, 0])
    largest = float(column.max()) if len(column) else 0.0
    if max(first, largest) == 0 or math.isnan(first):
        return 1, 0, True
    if first >= _ALPHA * largest:
        return 1, 0, False
    row = 1 + int(column.argmax())
    others = _size(matrix[row])
    own, others[row] = float(others[row]), 0
    beside = float(others.max())
    if first >= _ALPHA * largest * (largest / beside):
        return 1, 0, False
    return (1, row, False) if own >= _ALPHA * beside else (2, row, False)


def _swapped(matrix: Array, one: int, other: int) -> Array:
    """The matrix with two rows swapped."""
    order = list(range(len(matrix)))
    order[one], order[other] = other, one
    return matrix[order]


def _divided(xp: Any, rows: Array, block: Array) -> Array:
    """rows · block⁻¹. A block of two has large elements beside its diagonal, by which it is scaled first."""
    if len(block) == 1:
        return rows * (1 / block[0, 0])
    (a, above), (e, c) = block
    a, c = a / above, c / e
    x, y = rows.T
    return xp.stack([(c * x - y) / (above * (a * c - 1)), (a * y - x) / (e * (a * c - 1))], 1)
