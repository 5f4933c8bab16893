"""The running result of a function of two arguments along a dimension, on any device."""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.loops import on_cpu


def running(xp: Any, combine: Any, array: Array, axis: int) -> Array:
    """y_i = combine(x_0, ..., x_i) of an associative function, such as the largest element so far.

    NumPy goes from element to element. CuPy can't, so there each step combines twice as many as the one before
    (Hillis and Steele 1986, doi:10.1145/7902.7903).
    """
    if xp.is_host:
        return combine.accumulate(array, axis=axis)
    result = array.copy()
    along = result.swapaxes(0, axis)
    reach = 1
    while reach < len(along):
        along[reach:] = combine(along[reach:], along[:-reach].copy())
        reach *= 2
    return result


@on_cpu("running")
def fold_into(xp: Any, out: Array, x: Array, axis: int, kind: Any, fold: str) -> None:
    """out_i = x_0 ∘ … ∘ x_i by "cumsum" or "cumprod", whose running value is of the type `kind`."""
    wide = x.astype(kind, copy=False)
    if out.dtype == kind:
        getattr(wide, fold)(axis, out=out)
    else:
        out[...] = getattr(wide, fold)(axis)
    if fold == "cumsum" and out.dtype.kind in "fc" and not xp.moveaxis(out, axis, 0)[:1].all():
        out += 0  # PyTorch adds to 0, so that no sum is −0


def reduced(xp: Any, combine: Any, array: Array) -> Array:
    """combine(x_0, combine(x_1, ...)) along the first dimension, which has an element at least."""
    if xp.is_host:
        return combine.reduce(array, axis=0)
    while len(array) > 1:
        half = len(array) // 2
        rest = array[2 * half :]
        array = combine(array[:half], array[half : 2 * half])
        if len(rest):
            array[:1] = combine(array[:1], rest)
    return array[0]
