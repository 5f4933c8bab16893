"""Where arrays of the meta device would lie: NumPy's arrays at addresses where nothing is, which nobody may read.

NumPy takes views of them and knows their strides, as of all arrays; no memory is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

Place = np.ndarray[Any, Any]

_addresses = count(1 << 12, 1 << 40)
"""Where new arrays seem to lie: far enough from each other that they share no memory."""


class _Nowhere:
    def __init__(self, shape: Sequence[int], itemsize: int, strides: Any, address: int) -> None:
        self.__array_interface__ = {
            "shape": tuple(shape),
            "typestr": f"|V{itemsize}",
            "strides": strides,
            "data": (address % (1 << 62), False),
            "version": 3,
        }


def place(shape: Any, dtype: Any, strides: Any = None, address: int | None = None) -> Place:
    """Where an array would lie, at a new address if none is given."""
    kind = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else shape
    nowhere = _Nowhere(shape, kind.itemsize, strides, next(_addresses) if address is None else address)
    return np.asarray(nowhere).view(kind)


def like(original: Place, dtype: Any, order: str | None = "K", shape: Any = None) -> Place:
    """Where a copy would lie."""
    kind, shape = np.dtype(dtype), original.shape if shape is None else shape
    if order == "F" or (order in ("K", "A") and shape == original.shape and not original.flags.c_contiguous):
        ordered = sorted(range(len(shape)), key=lambda dim: (abs(original.strides[dim]), -dim)) if order == "K" else ()
        strides, step = [0] * len(shape), kind.itemsize
        for dim in ordered or range(len(shape)):
            strides[dim], step = step, step * shape[dim]
        return place(shape, kind, tuple(strides))
    return place(shape, kind)


# The shapes that indices find.


def is_array(index: Any) -> bool:
    """Whether an index is an array, and not a number or a slice."""
    if hasattr(index, "ndim"):
        return index.ndim > 0 or has_mask(index)
    return isinstance(index, list)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array, a number or a list."""
    return value.shape if hasattr(value, "shape") else np.shape(value)


def has_mask(index: Any) -> bool:
    """Whether an index is an array of booleans, or has one among its items."""
    items = index if isinstance(index, tuple) else (index,)
    return any(getattr(each, "dtype", None) == np.bool_ for each in items)


def indexed(shape: Sequence[int], items: Sequence[Any]) -> tuple[int, ...]:
    """The shape of what an index with arrays finds.

    The dimensions of the arrays, broadcast together, stand where the first of them does; in front, if there is a slice
    between two of them. Source: https://numpy.org/doc/stable/user/basics.indexing.html#combining-advanced-and-basic-indexing
    """
    if Ellipsis not in [each for each in items if not is_array(each)]:
        items = (*items, Ellipsis)
    found: list[int] = []
    arrays: list[tuple[int, ...]] = []
    places: list[int] = []
    first = 0
    sizes = list(shape)
    taken = [each.ndim if has_mask(each) else 1 for each in items if each is not None and each is not Ellipsis]
    rest = len(sizes) - sum(taken)
    for number, each in enumerate(items):
        if each is None:
            found.append(1)
        elif each is Ellipsis:
            found += sizes[:rest]
            del sizes[:rest]
        elif isinstance(each, slice):
            found.append(len(range(*each.indices(sizes.pop(0)))))
        else:
            is_mask = has_mask(each)
            del sizes[: each.ndim if is_mask else 1]
            places.append(number)
            first = len(found) if not arrays else first
            arrays.append((0,) if is_mask else shape_of(each))
    if places != list(range(places[0], places[-1] + 1)):
        first = 0
    found[first:first] = np.broadcast_shapes(*arrays)
    return tuple(found)
