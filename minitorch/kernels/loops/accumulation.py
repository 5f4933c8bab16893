"""The loop of `kernels/accumulation.py`, which needs no order of the places."""

from __future__ import annotations

import math

from minitorch.arrays import Array
from minitorch.arrays.loops import are_contiguous, have_rows
from minitorch.kernels.loops.compiling import compiled


def add_rows(target: Array, dim: int, places: Array, values: Array, fresh: bool = False) -> bool:
    """target[places] += values, one row after the other. A place that doesn't exist is the kernel's to name."""
    width = math.prod(target.shape[1:])
    if dim or places.dtype != "int64" or not are_contiguous(target, places, values):
        return False
    if target.ndim > 1 and width < 2:  # the kernel adds up what is one column pairwise
        return False
    rows = [each.reshape(-1, width) for each in (target, values)]
    return have_rows(*rows) and _add_rows(rows[0], places, rows[1])


@compiled
def _add_rows(target: Array, places: Array, values: Array) -> bool:
    for i in range(places.size):
        if not 0 <= places[i] < len(target):
            return False
    for i in range(places.size):
        row, value = target[places[i]], values[i]
        for j in range(row.size):
            row[j] += value[j]
    return True
