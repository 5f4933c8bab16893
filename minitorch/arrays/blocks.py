"""The one loop over blocks: intermediate results of a block stay in the processor's cache until they are used."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Array = Any

CACHE = 2**20
"""The bytes of the second-level cache that the arrays of one block share."""

LIVE = 8
"""The arrays of a block that a chain of elementwise steps holds at the same time."""


def blocks(xp: Any, count: int, each: int, live: int = LIVE) -> Iterator[slice]:
    """Slices of `count` rows of `each` bytes, so that `live` arrays of such rows fit in the cache.

    Where `xp` doesn't compute in host memory, one slice holds all rows.
    """
    step = max(CACHE // max(live * each, 1), 1) if xp.is_host else max(count, 1)
    return (slice(start, start + step) for start in range(0, count, step))


def are_many(xp: Any, array: Array, live: int = LIVE) -> bool:
    """Whether the elements of an array are more than one block."""
    return bool(xp.is_host and array.nbytes * live > CACHE)


def in_blocks(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Evaluates `compute(xp, *arguments)`, an elementwise function, on one block after the other.

    The arguments are arrays of one shape, and numbers, strings, functions and 0-d arrays, which every block gets; one
    at least is an array. Where an array is not contiguous, or broadcast, all is computed at once.
    """

    @functools.wraps(compute)
    def by_block(xp: Any, *arguments: Any) -> Array:
        largest = max((each for each in arguments if hasattr(each, "ndim")), key=_dimensions)
        shape = largest.shape
        if not are_many(xp, largest) or not all(_fits(each, shape) for each in arguments):
            return compute(xp, *arguments)
        flat = [each.reshape(-1) if _dimensions(each) else each for each in arguments]
        result: Array = None
        for block in blocks(xp, largest.size, largest.itemsize):
            part = compute(xp, *(each[block] if _dimensions(each) else each for each in flat))
            if result is None:
                result = xp.empty(largest.size, part.dtype)
            result[block] = part
        return result.reshape(shape)

    return by_block


def in_row_blocks(compute: Callable[..., None]) -> Callable[..., None]:
    """Has `compute(xp, axis, out, *arrays)`, which writes into `out`, go through one block of rows after the other.

    Rows are those of matrices; where the axis isn't the last one, all is computed at once.
    """

    @functools.wraps(compute)
    def by_block(xp: Any, axis: int, out: Array, *arrays: Array) -> None:
        if axis != -1:
            compute(xp, axis, out, *arrays)
            return
        for rows in blocks(xp, len(out), out.strides[0], live=4):
            compute(xp, -1, out[rows], *(each[rows] for each in arrays))

    return by_block


def in_flat_blocks(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Has `compute(xp, *arguments)`, which overwrites arrays element by element, go through blocks of them.

    The first `count` arguments are the arrays, of one shape, or None; every block gets the others.
    """

    def decorate(compute: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(compute)
        def by_block(xp: Any, *arguments: Any) -> None:
            there = [place for place in range(count) if arguments[place] is not None]
            for parts in blocks_of(xp, *(arguments[place] for place in there), live=4):
                part = dict(zip(there, parts, strict=True))
                compute(xp, *map(part.get, range(count)), *arguments[count:])

        return by_block

    return decorate


def blocks_of(xp: Any, *arrays: Array, live: int = LIVE) -> Iterator[Sequence[Array]]:
    """The arrays, which have one shape, in flat blocks for a loop that writes to some of them.

    An array that is one expanded element is passed as that 0-d element. Where another is not contiguous, the arrays
    come whole.
    """
    first = arrays[0]
    if are_many(xp, first, live):
        parts = [each if any(each.strides) else each[(0,) * each.ndim + (...,)] for each in arrays]
        if all(_fits(each, first.shape) for each in parts):
            flat = [each.reshape(-1) if each.ndim else each for each in parts]
            for block in blocks(xp, first.size, first.itemsize, live):
                yield [each[block] if each.ndim else each for each in flat]
            return
    yield arrays


def _dimensions(argument: Any) -> int:
    return getattr(argument, "ndim", 0)


def _fits(array: Any, shape: tuple[int, ...]) -> bool:
    return not _dimensions(array) or (array.shape == shape and array.flags.c_contiguous)
