"""The loop of `kernels/running.py`: the running value, of 64 bits as there, stays in a register or in the cache."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.arrays import Array
from minitorch.arrays.loops import flat
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.threads import by_parts


def fold_into(out: Array, x: Array, axis: int, kind: Any, fold: str) -> bool:
    """out_i = x_0 ∘ … ∘ x_i along a dimension, by "cumsum" or "cumprod"."""
    arrays = flat(out, x)
    if arrays is None:
        return False
    axis %= x.ndim
    outer, width = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    if width == 1:
        return by_parts(_fold_rows, [each.reshape(outer, -1) for each in arrays], fold == "cumprod")
    return by_parts(_fold_planes, [each.reshape(outer, -1, width) for each in arrays], fold == "cumprod")


@compiled
def _fold_rows(out: Array, x: Array, product: bool) -> bool:
    for i in range(len(x)):
        row, into = x[i], out[i]
        total = 1.0 if product else 0.0
        if product:
            for j in range(row.size):
                total *= row[j]
                into[j] = total
        else:
            for j in range(row.size):
                total += row[j]
                into[j] = total
    return True


@compiled
def _fold_planes(out: Array, x: Array, product: bool) -> bool:
    totals = np.empty(x.shape[2], np.float64)
    for i in range(len(x)):
        totals[:] = 1.0 if product else 0.0
        for k in range(x.shape[1]):
            row, into = x[i, k], out[i, k]
            if product:
                for j in range(row.size):
                    totals[j] *= row[j]
                    into[j] = totals[j]
            else:
                for j in range(row.size):
                    totals[j] += row[j]
                    into[j] = totals[j]
    return True
