"""Sums of elements in the precision that two-byte floats need."""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dtypes import dtype as DType
from minitorch.dtypes import float32


def add_up(xp: Any, array: Array, dims: tuple[int, ...] | int, keepdim: bool, kind: DType) -> Array:
    """Σ over `dims`, computed in `kind`; in float32 where that is a two-byte float, and not rounded back."""
    wide = (float32 if kind.is_low_precision else kind).numpy
    array = array if array.dtype == wide else array.astype(wide)
    return xp.sum(array, dims, wide, keepdims=keepdim)
