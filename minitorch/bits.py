"""The conjugate and the negative bit: in what a view's elements differ from what lies in its memory.

`x.conj()` is a view of x with the first, `x.conj().imag` one with the second: nothing is computed until an op reads the
elements. Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/MathBitsFallback.h
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.layout import empty_as

CONJUGATE, NEGATIVE = 1, 2


def resolved(xp: Any, array: Array, bits: int) -> Array:
    """The elements of a view with these bits on this memory, or the memory for these elements, which is the same."""
    result = empty_as(xp, array, array.dtype)
    if bits & CONJUGATE:
        array = xp.conjugate(array, result)
    if bits & NEGATIVE:
        xp.negative(array, result)
    return result
