"""Arithmetic on the bits of integers, and what belongs to whole numbers.

Floating point tensors raise NotImplementedError. Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import composite, pointwise
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.out_types import SAME_TYPE
from minitorch.dtypes import BOOL, FLOATING, INTEGER
from minitorch.tensor import Tensor


@pointwise(upcast=False, categories=(BOOL, INTEGER), operators="__and__ __rand__ __iand__")
def bitwise_and(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """Bits that are set in both."""
    return xp.bitwise_and(self, other)


@pointwise(upcast=False, categories=(BOOL, INTEGER), operators="__or__ __ror__ __ior__")
def bitwise_or(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """Bits that are set in one or both."""
    return xp.bitwise_or(self, other)


@pointwise(upcast=False, categories=(BOOL, INTEGER), operators="__xor__ __rxor__ __ixor__")
def bitwise_xor(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """Bits that are set in one alone."""
    return xp.bitwise_xor(self, other)


@pointwise(out_type=SAME_TYPE, upcast=False, categories=(BOOL, INTEGER))
def bitwise_not(xp: Any, self: Array) -> Array:
    """All bits turned."""
    return xp.bitwise_not(self)


@composite(variants="method")
def __invert__(input: Tensor) -> Tensor:  # noqa: N807
    if input._dtype.category >= FLOATING:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    result: Tensor = bitwise_not(input)
    return result


@pointwise(upcast=False, operators="__lshift__ __rlshift__ __ilshift__")
def bitwise_left_shift(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self · 2ᵒᵗʰᵉʳ."""
    return _shift(xp, xp.left_shift, self, other, "lshift_cpu")


@pointwise(upcast=False, operators="__rshift__ __rrshift__ __irshift__")
def bitwise_right_shift(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """⌊self / 2ᵒᵗʰᵉʳ⌋."""
    return _shift(xp, xp.right_shift, self, other, "rshift_cpu")


def _shift(xp: Any, function: Any, self: Array | Number, other: Array | Number, kernel: str) -> Array:
    kind = (self if hasattr(self, "dtype") else other).dtype
    if kind.kind not in "iu":
        raise not_implemented(kernel, kind.name)
    return function(self, other)


@pointwise(upcast=False, categories=(INTEGER,))
def gcd(xp: Any, self: Array, other: Array) -> Array:
    """The greatest common divisor."""
    return xp.gcd(self, other)


@pointwise(upcast=False, categories=(INTEGER,))
def lcm(xp: Any, self: Array, other: Array) -> Array:
    """The least common multiple."""
    multiple = xp.lcm(self, other)
    return xp.abs(multiple) if multiple.dtype.itemsize > 2 else multiple  # of an overflow, in C's int or wider
