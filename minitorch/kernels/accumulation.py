"""Adding many values into few places: what the gradients of all indexing ops come down to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.kernel import on_gpu, threads
from minitorch.arrays.loops import on_cpu
from minitorch.dtypes import FROM_NUMPY
from minitorch.kernels.running import reduced
from minitorch.layout import may_overlap

CUPY_ADDS = ("int32", "int64", "float16", "float32", "float64", "uint32", "uint64")
"""The types of which CuPy's `add.at` takes arrays."""


def _adds_at(xp: Any, target: Array) -> bool:
    return xp.is_host or target.dtype.name in CUPY_ADDS


def _by_element(
    target: Array, dim: int, places: Array, values: Array, fresh: bool = False
) -> tuple[int, tuple[Any, ...]] | None:
    """A thread for each element of the values, for `accumulation.cu`."""
    if places.dtype != "int64":
        return None
    width = math.prod(target.shape[dim + 1 :])
    return threads(values.size), (target, places, values, values.size, len(places), target.shape[dim], width)


@on_gpu("accumulation.cu", _by_element)
@on_cpu("accumulation")
def add_rows(xp: Any, target: Array, dim: int, places: Array, values: Array, fresh: bool = False) -> None:
    """target[..., places, ...] += values along a dimension; a place that is named several times gets all of its rows.

    `fresh` says that zeros stand there.
    """
    if target.ndim == 1 and _adds_at(xp, target):
        xp.add.at(target, places, values)
        return
    combine_rows(xp, xp.add, xp.moveaxis(target, dim, 0), places, xp.moveaxis(values, dim, 0), fresh)


def add_at(xp: Any, target: Array, index: tuple[Any, ...], values: Array) -> None:
    """target[index] += values, where an element that is indexed several times gets all of its values.

    `xp.add.at` has a fast path for vectors only, so the places are counted in the flattened target where possible.
    Two-byte floats are summed in float32.
    """
    if target.dtype == bool:
        combine_at(xp, xp.logical_or, target, index, values)
    elif not target.flags.c_contiguous and may_overlap(target.shape, target.strides):
        xp.add.at(target, index, values)  # one after the other, since each sum may be needed by the next
    elif FROM_NUMPY[target.dtype].is_low_precision:
        wide = target.astype("float32")
        add_at(xp, wide, index, values.astype("float32"))
        target[...] = wide
    elif _are_slices(target, index, values):
        dim = len(index) - 1
        add_rows(xp, target, dim, checked_places(xp, index[-1], target.shape[dim], dim), values)
    elif not target.flags.c_contiguous and _adds_at(xp, target):
        xp.add.at(target, index, values)
    elif not target.flags.c_contiguous:
        _combine_flat(xp, xp.add, target, index, values)
    else:
        places = flat_places(xp, target.shape, index)
        values = xp.broadcast_to(values, places.shape)
        add_rows(xp, target.reshape(-1), 0, places.reshape(-1), values.reshape(-1))


def combine_at(xp: Any, combine: Any, target: Array, index: tuple[Any, ...], values: Array) -> None:
    """target[index] = combine(target[index], values), where what is indexed several times gets all of its values."""
    dim = len(index) - 1
    if not _are_slices(target, index, values):
        if xp.is_host:
            combine.at(target, index, values)
        else:
            _combine_flat(xp, combine, target, index, values)
        return
    places = checked_places(xp, index[-1], target.shape[dim], dim)
    combine_rows(xp, combine, xp.moveaxis(target, dim, 0), places, xp.moveaxis(values, dim, 0))


def _combine_flat(xp: Any, combine: Any, target: Array, index: tuple[Any, ...], values: Array) -> None:
    """The same where the library has no `at` for the function: in rows of one element."""
    flat = target.reshape(-1).copy()
    places = flat_places(xp, target.shape, index)
    values = xp.broadcast_to(values, places.shape).reshape(-1, 1)
    combine_rows(xp, combine, flat.reshape(-1, 1), places.reshape(-1), values)
    target[...] = flat.reshape(target.shape)


def _are_slices(target: Array, index: tuple[Any, ...], values: Array) -> bool:
    """Whether `index` is a vector of places along one dimension, each of a slice with several elements."""
    places, dim = index[-1], len(index) - 1
    if (
        target.ndim == 1
        or places.ndim != 1
        or places.dtype == bool
        or not all(isinstance(i, slice) for i in index[:-1])
    ):
        return False
    return values.size > 0 and values.shape == (*target.shape[:dim], len(places), *target.shape[dim + 1 :])


def combine_rows(
    xp: Any, combine: Any, target: Array, places: Array, values: Array, fresh: bool = False
) -> tuple[Array, Array]:
    """target[places] = combine(target[places], values), where a row that is named several times gets all of its values.

    Returns the places without repetition, and how often each was named. What stood there doesn't count if `fresh`.
    In the order of the places, the values of one place are neighbours: a run. First values of all runs are combined
    at once, then the second values of those that have them, and so on, as long as there are more runs than steps to go;
    the few long ones that are left are then reduced one by one.
    """
    if not places.size:
        return places, places
    size = int(places.max()) + 1
    # Integers of 16 bits are sorted by counting them.
    order = xp.argsort(places.astype("uint16") if size <= 2**16 else places, kind="stable")
    ordered = places[order]
    start = xp.flatnonzero(xp.diff(ordered, prepend=-1))
    count = xp.diff(start, append=len(ordered))
    place, held, given = ordered[start], _rows(xp, target), _rows(xp, values)
    done, longest, left = 0, int(count.max()), xp.arange(len(start))
    if fresh:
        first = given(order[start])
        first += 0  # as what is added to 0 is never −0
        target[place] = first
        done, left = 1, xp.flatnonzero(count > 1)
    while 0 < longest - done <= len(left):
        target[place[left]] = combine(held(place[left]), given(order[start[left] + done]))
        done += 1
        left = left[count[left] > done]
    for run in left.tolist():
        rest = given(order[start[run] + done : start[run] + count[run]])
        rest[0] = combine(target[place[run]], rest[0])  # one after the other, as sums round
        target[place[run]] = reduced(xp, combine, rest)
    return place, count


def _rows(xp: Any, array: Array) -> Callable[[Array], Array]:
    """What picks rows; `take` is the faster, but first makes what isn't contiguous so."""
    return (lambda places: xp.take(array, places, axis=0)) if array.flags.c_contiguous else array.__getitem__


def flat_places(xp: Any, shape: tuple[int, ...], index: tuple[Any, ...]) -> Array:
    """Where the elements that `index` selects lie in the flattened array."""
    if len(index) == len(shape) and all(hasattr(each, "dtype") and each.dtype != bool for each in index):
        places: Any = 0
        for dim, (each, size) in enumerate(zip(index, shape, strict=True)):
            places = places * size + checked_places(xp, each, size, dim)
        return places
    if len(index) > 1 or index[0].dtype == bool:
        return xp.arange(math.prod(shape)).reshape(shape)[index]
    rows = checked_places(xp, index[0], shape[0])
    width = math.prod(shape[1:])
    if width == 1:
        return rows.reshape(*rows.shape, *shape[1:])
    places = rows[..., None] * width + xp.arange(width)
    return places.reshape(*rows.shape, *shape[1:])


def checked_places(xp: Any, places: Array, size: int, dim: int = 0) -> Array:
    """Indices into a dimension, negative ones counted from its end. Raises IndexError for those outside."""
    if not places.size:
        return places.astype(xp.int64)
    low, high = int(places.min()), int(places.max())
    if low < -size or high >= size:
        first = int(places[(places < -size) | (places >= size)][0])
        raise IndexError(f"index {first} is out of bounds for dimension {dim} with size {size}")
    return xp.where(places < 0, places + size, places) if low < 0 else places
