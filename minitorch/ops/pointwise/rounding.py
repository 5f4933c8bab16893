"""Rounding to whole numbers, the fraction that is left, and the next number, element by element.

Integers stay as they are. Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import pointwise, zero_gradient
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.out_types import SAME_TYPE
from minitorch.dtypes import FLOATING
from minitorch.layout import copy_in, preserve_format


def _rounded(xp: Any, function: Any, array: Array, name: str) -> Array:
    if array.dtype.kind in "fiu":
        return function(array) if array.dtype.kind == "f" else copy_in(xp, array, array.dtype, preserve_format)
    if array.dtype.kind == "c" and name != "round":
        raise NotImplementedError(f"{name} is not supported for complex inputs")
    raise not_implemented(f"{name}_vml_cpu", array.dtype.name)


@pointwise(out_type=SAME_TYPE, derivatives={"self": zero_gradient})
def ceil(xp: Any, self: Array) -> Array:
    """⌈x⌉."""
    return _rounded(xp, xp.ceil, self, "ceil")


@pointwise(out_type=SAME_TYPE, derivatives={"self": zero_gradient})
def floor(xp: Any, self: Array) -> Array:
    """⌊x⌋."""
    return _rounded(xp, xp.floor, self, "floor")


@pointwise(out_type=SAME_TYPE, aliases="fix", derivatives={"self": zero_gradient})
def trunc(xp: Any, self: Array) -> Array:
    """x rounded towards zero."""
    return _rounded(xp, xp.trunc, self, "trunc")


@pointwise(
    keyword_only="decimals",
    out_type=SAME_TYPE,
    derivatives={"self": zero_gradient},
    node=lambda self, decimals: f"RoundBackward{int(decimals != 0)}",
)
def round(xp: Any, self: Array, decimals: int = 0) -> Array:
    """x rounded to the nearest, halves to even, at `decimals` digits after the point.

    Raises NotImplementedError for bool.
    """
    if not decimals:
        return _rounded(xp, xp.rint, self, "round")
    if self.dtype.kind != "f":
        raise not_implemented("round_cpu", self.dtype.name)
    scale = 10.0 ** abs(decimals)
    return xp.rint(self * scale) / scale if decimals > 0 else xp.rint(self / scale) * scale


@pointwise(out_type=SAME_TYPE, derivatives={"self": lambda grad: grad})
def frac(xp: Any, self: Array) -> Array:
    """x − trunc(x). Raises NotImplementedError for integers."""
    if self.dtype.kind != "f":
        raise not_implemented("frac_cpu", self.dtype.name)
    return self - xp.trunc(self)


@pointwise(
    upcast=False,
    categories=(FLOATING,),
    derivatives={"self": lambda grad, self, other: grad.masked_fill(self == other, 0), "other": zero_gradient},
)
def nextafter(xp: Any, self: Array, other: Array) -> Array:
    """The next number after self towards `other`."""
    if not isinstance(other, xp.ndarray) or self.shape != other.shape:
        return xp.nextafter(self, other)
    # The bits of neighbouring numbers are neighbouring integers, but for zeros and NaN.
    bits = self.view(f"int{8 * self.dtype.itemsize}")
    outwards = ((other > self) == (self > 0)).view("int8")
    result = xp.asarray(bits + (outwards * xp.int8(2) - xp.int8(1))).view(self.dtype)
    special = (self == 0) | (self == other) | (self != self) | (other != other)
    result[special] = xp.nextafter(self[special], other[special])
    return result
