"""Clearing numbers by a mask, quickly: the heart of the derivatives of ReLU, of clamp and of dropout."""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import declare, zero_gradient


def keep(xp: Any, array: Array, mask: Array) -> Array:
    """`array` where the mask of the same shape holds, else 0.

    The mask's true is made all bits set, so that one `and` keeps or clears a number: four times faster than `where`,
    and right for infinities and NaN, where a product with the mask is not.
    """
    if array.dtype.kind == "c":
        return xp.where(mask, array, xp.zeros((), array.dtype))
    kind = f"int{8 * array.dtype.itemsize}"
    bits = xp.asarray(xp.negative(mask.view("int8")), kind)
    return xp.bitwise_and(array.view(kind), bits, out=bits).view(array.dtype)


def clear(xp: Any, array: Array, mask: Array, out: Array) -> None:
    """Writes `array` to `out`, but 0 where the mask of the same shape holds. For real numbers."""
    kind = f"int{8 * out.dtype.itemsize}"
    bits = xp.subtract(mask.view("int8"), 1).astype(kind)
    xp.bitwise_and(array.view(kind), bits, out=out.view(kind))


@declare(
    variants="",
    derivatives={
        "grad_output": lambda grad, self, mask: masked(grad, self, mask),
        "self": zero_gradient,
    },
)
def masked(xp: Any, grad_output: Array, self: Array, mask: Array) -> Array:
    """The gradient of a function of `self` whose slope is 1 where the mask of the same shape holds, and 0 elsewhere."""
    return keep(xp, grad_output, mask)
