"""Clearing numbers by a mask, quickly: the heart of the derivatives of ReLU, of clamp and of dropout."""

from __future__ import annotations

from typing import Any

from minitorch.backend import Array
from minitorch.ops.declaration import declare


def keep(xp: Any, array: Array, mask: Array) -> Array:
    """`array` where the mask of the same shape holds, else 0.

    The mask's true is made all bits set, so that one `and` keeps or clears a number: four times faster than `where`,
    and right for infinities and NaN, where a product with the mask is not.
    """
    if array.dtype.kind == "c":
        return xp.where(mask, array, xp.zeros((), array.dtype))
    bits = xp.negative(mask.view("int8"))
    return xp.bitwise_and(array.view(f"int{8 * array.dtype.itemsize}"), bits).view(array.dtype)


@declare(
    variants="",
    derivatives={
        "grad_output": lambda grad, self, mask: masked(grad, self, mask),
        "self": lambda grad: grad.new_zeros(grad.shape),
    },
)
def masked(xp: Any, grad_output: Array, self: Array, mask: Array) -> Array:
    """The gradient of a function of `self` whose slope is 1 where the mask of the same shape holds, and 0 elsewhere."""
    return keep(xp, grad_output, mask)
