"""Products of matrices, given to BLAS in the order in which it is quick."""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array


def product(xp: Any, a: Array, b: Array) -> Array:
    """a @ b for matrices or batches of matrices; two-byte floats are summed in float32."""
    if a.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    if a.dtype.itemsize == 2 and a.dtype.kind != "i":
        return product_in_single(xp, a, b).astype(a.dtype)
    if a.ndim == b.ndim == 2:
        return xp.dot(a, b)
    return xp.matmul(for_blas(xp, a), for_blas(xp, b))


def product_in_single(xp: Any, a: Array, b: Array) -> Array:
    """a @ b, of two-byte floats in float32, so that what is added to it is rounded only once."""
    low = a.dtype.itemsize == 2 and a.dtype.kind != "i"
    return product(xp, a.astype("f4"), b.astype("f4")) if low else product(xp, a, b)


def for_blas(xp: Any, matrices: Array) -> Array:
    """The same matrices where BLAS can read them, in rows or in columns: NumPy multiplies others element by element."""
    row, column = matrices.strides[-2:]
    rows, columns = matrices.shape[-2:]
    item = matrices.itemsize
    if (column == item and row >= columns * item) or (row == item and column >= rows * item):
        return matrices
    return xp.ascontiguousarray(matrices)
