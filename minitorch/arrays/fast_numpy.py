"""NumPy as kernels see it: `xp` on the CPU.

Kernels are formulas over `xp`, so that one text serves every device. A few of NumPy's functions are slow for common
arguments: the functions here compute the same numbers faster. All other names are NumPy's own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minitorch.arrays.blocks import CACHE, LIVE, blocks

Array = Any

is_host = True
"""Whether arrays lie in host memory, where the size of the cache decides how to compute."""

FEW = 4096
"""Up to this number of elements, NumPy's own function takes less time than the call of a faster one."""

_HOST = sys.modules[__name__]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def __getattr__(name: str) -> Any:
    found = globals()[name] = getattr(np, name)
    return found


def _replaces(ufunc: np.ufunc) -> Callable[[_Function], _Function]:
    """Gives a function the methods of the ufunc that it replaces."""

    def decorate(function: _Function) -> _Function:
        for name in ("at", "reduce", "accumulate", "outer"):
            setattr(function, name, getattr(ufunc, name))
        return function

    return decorate


# Looking up NumPy's own here, and not in each call, keeps the way to them short.
_multiply, _subtract, _divide, _maximum, _minimum = np.multiply, np.subtract, np.true_divide, np.maximum, np.minimum


# Products, quotients and differences


@_replaces(np.multiply)
def multiply(one: Any, other: Any, out: Any = None) -> Any:
    """one · other."""
    if out is not None:
        return _multiply(one, other, out)
    if one.__class__ is other.__class__ and one.ndim > 2:
        return _by_rows(_multiply, one, other)
    return _multiply(one, other)


@_replaces(np.subtract)
def subtract(one: Any, other: Any, out: Any = None) -> Any:
    """one − other."""
    if out is not None:
        return _subtract(one, other, out)
    if one.__class__ is other.__class__ and one.ndim > 2:
        return _by_rows(_subtract, one, other)
    return _subtract(one, other)


def _by_rows(compute: np.ufunc, one: Array, other: Array) -> Any:
    """compute(one, other) of arrays that may be broadcast.

    NumPy goes through a[:, None, :] · b[None, :, :] in steps of the last dimension. If that is short, it takes half the
    time to expand `a` into a block of the result, which is a copy, and to compute there in steps of both dimensions.
    """
    if one.shape == other.shape:
        return compute(one, other)
    shape = np.broadcast(one, other).shape
    rest = shape[1:]
    swapped = one.shape[1:] == rest
    expanded, whole = (other, one) if swapped else (one, other)
    if (
        whole.shape[1:] != rest
        or expanded.shape[-1:] != shape[-1:]
        or expanded.shape[-2:-1] == shape[-2:-1]
        or shape[-1] > 512
        or math.prod(shape) * one.itemsize * LIVE <= CACHE
        or one.dtype != other.dtype
        or not whole.flags.c_contiguous
    ):
        return compute(one, other)
    result = np.empty(shape, one.dtype)
    by_rows, whole = result.reshape(shape[0], -1), whole.reshape(whole.shape[0], -1)
    expanded = np.broadcast_to(expanded, shape)
    for rows in blocks(_HOST, shape[0], by_rows.shape[1] * one.itemsize, live=4):
        result[rows] = expanded[rows]
        into, operand = by_rows[rows], whole[rows] if len(whole) > 1 else whole
        compute(*((operand, into) if swapped else (into, operand)), out=into)
    return result


@_replaces(np.true_divide)
def true_divide(one: Any, other: Any, out: Any = None, dtype: Any = None) -> Any:
    """one / other. One element that is expanded, as a mean's gradient is, is divided once."""
    if dtype is not None:
        return _divide(one, other, out, dtype=dtype)
    if other.__class__ is int and one.size > FEW and not any(one.strides):
        quotient = _divide(one[(slice(1),) * one.ndim], other)
        return np.ascontiguousarray(np.broadcast_to(quotient, one.shape))
    return _divide(one, other, out)


# Choices and bounds


def where(condition: Any, *choices: Any) -> Any:
    """choices[0] where the condition holds, else choices[1].

    NumPy branches on each element, and processors guess every second branch wrong if the mask is irregular. Here the
    mask's true becomes all bits set, and the choice is arithmetic on bits.
    """
    if len(choices) == 2 and getattr(condition, "size", 1) > FEW and condition.dtype == bool:
        one, other = choices
        if hasattr(one, "dtype") and hasattr(other, "dtype") and one.dtype == other.dtype and other.itemsize <= 8:
            bits = f"i{other.itemsize}"
            chosen = (one.view(bits) ^ other.view(bits)) & np.negative(condition.view("i1")) ^ other.view(bits)
            return chosen.view(other.dtype)
    return np.where(condition, *choices)


@_replaces(np.maximum)
def maximum(one: Any, other: Any, out: Any = None) -> Any:
    """The larger of the two; NaN where one is NaN. With a number, `clip` does it in vector instructions."""
    if one.__class__ is int or one.__class__ is float:
        one, other = other, one
    if (other.__class__ is int or other.__class__ is float) and one.dtype.kind == "f" and out is None:
        return np.clip(one, other, np.inf) if one.size > FEW else _maximum(one.dtype.type(other), one)
    return _maximum(one, other, out=out)


@_replaces(np.minimum)
def minimum(one: Any, other: Any, out: Any = None) -> Any:
    """The smaller of the two; NaN where one is NaN. With a number, `clip` does it in vector instructions."""
    if one.__class__ is int or one.__class__ is float:
        one, other = other, one
    if (other.__class__ is int or other.__class__ is float) and one.dtype.kind == "f" and out is None:
        return np.clip(one, -np.inf, other) if one.size > FEW else _minimum(one.dtype.type(other), one)
    return _minimum(one, other, out=out)


def clip(array: Array, low: Any, high: Any, out: Any = None) -> Any:
    """min(max(array, low), high). NaN stays; integers are compared with bounds of any size."""
    if array.dtype.kind == "f":
        return np.clip(array, low, high, out)
    return _minimum(_maximum(array, low), high, out=out)


# Sums


def sum(array: Array, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Σ along `axis`.

    The error of a float sum grows with log n, not n: NumPy adds up pairwise, except over leading dimensions; there a
    product with a row of ones, in blocks, does it, which also is faster. So are large arrays' products with a column of
    ones for the sums over trailing dimensions.
    """
    if axis.__class__ is tuple and out is None:
        kept = array.ndim - len(axis)
        own = array.dtype
        if (kept or array.size >= LARGE) and own.kind == "f" and (dtype is None or dtype is own) and own.itemsize > 2:
            total = _quick_sum(array, axis, kept, keepdims) if array.flags.c_contiguous else None
            if total is not None:
                return total
        if not kept:
            axis = None
    return np.add.reduce(array, axis, dtype, out, keepdims=keepdims)


def _quick_sum(array: Array, axes: tuple[int, ...], kept: int, keepdims: Any) -> Any:
    """A sum as products of matrices; None where `np.add.reduce` is better."""
    if array.size >= LARGE and (kept == 0 or array.ndim - 1 in axes):
        return _trailing_sums(array, axes, keepdims)
    if not (kept and axes and axes == tuple(range(len(axes)))):
        return None
    shape = array.shape[len(axes) :]
    rows, columns = math.prod(array.shape[: len(axes)]), math.prod(shape)
    if not rows or columns <= 1:
        return None
    total = _column_sums(array.reshape(rows, columns))
    return total.reshape((1,) * len(axes) + shape if keepdims else shape)


_BLOCK = 128
LARGE = 2**13
_LONG = 2**12
"""Longer rows are added up pairwise: a product's error grows with their length."""


def _trailing_sums(array: Array, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Sums over `axes`, of which the last dimensions are some: over these first, then over the others."""
    first = array.ndim
    while first - 1 in axes:
        first -= 1
    rows = array.reshape(-1, math.prod(array.shape[first:]))
    if first == 0:
        whole = array.size // _LONG * _LONG
        flat = array.reshape(-1)
        parts = np.dot(flat[:whole].reshape(-1, _LONG), np.ones(_LONG, array.dtype))
        sums = np.asarray(parts.sum() + flat[whole:].sum())
    elif 1 < rows.shape[1] <= _LONG:
        sums = np.dot(rows, np.ones(rows.shape[1], array.dtype))
    else:
        sums = rows.sum(1)
    sums = sums.reshape(array.shape[:first])
    others = tuple(axis for axis in axes if axis < first)
    sums = sum(sums, others) if others else sums
    return sums.reshape([1 if axis in axes else n for axis, n in enumerate(array.shape)]) if keepdims else sums


def _column_sums(matrix: Array) -> Any:
    rows, columns = matrix.shape
    if rows < 2 * _BLOCK:
        return np.dot(np.ones(rows, matrix.dtype), matrix)
    full = rows // _BLOCK * _BLOCK
    parts = np.matmul(np.ones((1, _BLOCK), matrix.dtype), matrix[:full].reshape(-1, _BLOCK, columns))
    total = _column_sums(parts.reshape(-1, columns))
    return total if full == rows else total + _column_sums(matrix[full:])


def prod(array: Array, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """∏ along `axis`, of all elements by default. A long last axis is folded in eight, whole vectors at once."""
    axes = tuple(range(array.ndim)) if axis is None else axis
    if axes.__class__ is not tuple or array.size < LARGE or array.ndim - 1 not in axes:
        return np.multiply.reduce(array, axis, dtype, out, keepdims=keepdims)
    while (size := array.shape[-1]) > 64:
        eighth = size // 8
        folded = array[..., :eighth].copy()
        for start in range(eighth, size, eighth):
            piece = array[..., start : start + eighth]
            folded[..., : piece.shape[-1]] *= piece
        array = folded
    return np.multiply.reduce(array, axis, dtype, out, keepdims=keepdims)


# Products of matrices


def dot(a: Array, b: Array, out: Any = None) -> Any:
    """The product of two matrices or vectors."""
    if out is None and a.ndim == b.ndim == 2 and _has_few_rows(a, b):
        return np.ascontiguousarray(np.dot(b.T, a.T).T)
    return np.dot(a, b, out)


def _has_few_rows(a: Array, b: Array) -> bool:
    """Whether (bᵀ aᵀ)ᵀ is quicker than a @ b: for few rows OpenBLAS packs a transposed b (a layer's weight) slowly."""
    rows, depth = a.shape
    return depth >= 256 and 1 < rows <= depth // 4 and rows < b.shape[1] and b.flags.f_contiguous
