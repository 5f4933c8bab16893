"""Adding many values into few places: what the gradients of all indexing ops come down to."""

from __future__ import annotations

import math
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import FROM_NUMPY


def add_at(xp: Any, target: Array, index: tuple[Any, ...], values: Array) -> None:
    """target[index] += values, where an element that is indexed several times gets all of its values.

    `xp.add.at` has a fast path for vectors only, so the places are counted in the flattened target where possible.
    Two-byte floats are summed in float32.
    """
    if FROM_NUMPY[target.dtype].is_low_precision:
        wide = target.astype("float32")
        add_at(xp, wide, index, values.astype("float32"))
        target[...] = wide
    elif target.dtype == bool:
        xp.logical_or.at(target, index, values)
    elif not target.flags.c_contiguous:
        xp.add.at(target, index, values)
    else:
        places = _flat_places(xp, target.shape, index)
        values = xp.broadcast_to(values, places.shape)
        xp.add.at(target.reshape(-1), places.reshape(-1), values.reshape(-1))


def _flat_places(xp: Any, shape: tuple[int, ...], index: tuple[Any, ...]) -> Array:
    """Where the elements that `index` selects lie in the flattened array."""
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
