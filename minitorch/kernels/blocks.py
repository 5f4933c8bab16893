"""Elementwise arithmetic the way processors like it: in pieces that stay in the cache, and choices without branches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minitorch.arrays import Array

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


def blocks_of(xp: Any, *arrays: Array) -> Iterator[Sequence[Array]]:
    """Arrays of one shape, a block of elements after the other, for loops that write to some of them.

    What is one element expanded comes as that element. On a GPU, and where memory is not contiguous, there is one
    block.
    """
    size, shape = arrays[0].size, arrays[0].shape
    if size > BLOCK and xp.__name__ == "numpy":
        parts = [each if any(each.strides) else each[(0,) * each.ndim + (...,)] for each in arrays]
        if all(_fits(each, shape) for each in parts):
            flat = [each.reshape(-1) if each.ndim else each for each in parts]
            for start in range(0, size, BLOCK):
                yield [each[start : start + BLOCK] if each.ndim else each for each in flat]
            return
    yield arrays


def _fits(array: Array, shape: tuple[int, ...]) -> bool:
    return not array.ndim or (array.shape == shape and array.flags.c_contiguous)


def over_rows(xp: Any, compute: Any, one: Array, other: Array) -> Array:
    """compute(one, other), which has their dtype, for arrays that may be broadcast.

    NumPy goes through a[:, None, :] · b[None, :, :] in steps of the last dimension. If that is short, it takes half the
    time to expand `a` into a block of the result, which is a copy, and to compute there in steps of both dimensions.
    """
    if one.shape == other.shape:
        return compute(one, other)
    shape = xp.broadcast(one, other).shape
    rest = shape[1:]
    swapped = one.shape[1:] == rest
    expanded, whole = (other, one) if swapped else (one, other)
    if (
        whole.shape[1:] != rest
        or expanded.shape[-1:] != shape[-1:]
        or expanded.shape[-2:-1] == shape[-2:-1]
        or shape[-1] > 512
        or math.prod(shape) <= BLOCK
        or one.dtype != other.dtype
        or not whole.flags.c_contiguous
        or xp.__name__ != "numpy"
    ):
        return compute(one, other)
    result = xp.empty(shape, one.dtype)
    by_rows, whole = result.reshape(shape[0], -1), whole.reshape(whole.shape[0], -1)
    expanded = xp.broadcast_to(expanded, shape)
    step = max(1, 2 * BLOCK // whole.shape[1])
    for start in range(0, shape[0], step):
        rows = slice(start, start + step)
        result[rows] = expanded[rows]
        into, operand = by_rows[rows], whole[rows] if len(whole) > 1 else whole
        compute(*((operand, into) if swapped else (into, operand)), out=into)
    return result


def of_expanded(xp: Any, compute: Callable[[Array], Array], array: Array) -> Array:
    """compute(array), elementwise, for an array that may be one element expanded, as gradients of sums and means are.

    Then it is computed of that element, and expanded into memory of its own.
    """
    if array.size <= BLOCK or any(array.strides):
        return compute(array)
    return xp.ascontiguousarray(xp.broadcast_to(compute(array[(slice(1),) * array.ndim]), array.shape))


def clipped(xp: Any, array: Array, low: Any, high: Any) -> Array:
    """min(max(array, low), high) with numbers as bounds, of which one may be None; NaN stays.

    NumPy's `clip` does with vector instructions what `maximum` and `minimum` of an array and a number do one by one.
    """
    if array.dtype.kind == "f":
        if high is None and array.size <= BLOCK:  # the way to `clip` takes longer than what it saves
            return xp.maximum(array.dtype.type(low), array)
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
