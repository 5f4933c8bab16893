"""Exponentials and logarithms, element by element.

Integers become the default dtype. Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.arrays.blocks import in_blocks
from minitorch.dispatch.declaration import declare, pointwise
from minitorch.dispatch.errors import floating
from minitorch.dispatch.overlap import ANY_SOURCE
from minitorch.layout import kept_strides, restrided
from minitorch.ops.pointwise.arithmetic import conj


@pointwise(
    promotion="to float", derivatives={"self": lambda grad, result: grad * conj(result)}, autocast_on_gpu="float32"
)
def exp(xp: Any, self: Array) -> Array:
    """eˣ."""
    return xp.exp(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad * conj(result) * math.log(2)})
def exp2(xp: Any, self: Array) -> Array:
    """2ˣ."""
    return xp.exp2(self)


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, result: grad * (conj(result) + 1)},
    autocast_on_gpu="float32",
)
def expm1(xp: Any, self: Array) -> Array:
    """eˣ − 1, accurate near 0."""
    return xp.expm1(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad / conj(self)}, autocast_on_gpu="float32")
def log(xp: Any, self: Array) -> Array:
    """ln x."""
    return xp.log(self)


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, self: grad / conj(self * math.log(2))},
    autocast_on_gpu="float32",
)
def log2(xp: Any, self: Array) -> Array:
    """log₂ x."""
    return xp.log2(self)


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, self: grad / conj(self * math.log(10))},
    autocast_on_gpu="float32",
)
def log10(xp: Any, self: Array) -> Array:
    """log₁₀ x."""
    return xp.log10(self)


@pointwise(
    promotion="to float",
    node="Log1PBackward0",
    derivatives={"self": lambda grad, self: grad / conj(self + 1)},
    autocast_on_gpu="float32",
)
def log1p(xp: Any, self: Array) -> Array:
    """ln(1 + x), accurate near 0."""
    return xp.log1p(self)


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: grad / (1 + (other - self).exp()),
        "other": lambda grad, self, other: grad / (1 + (self - other).exp()),
    },
)
def logaddexp(xp: Any, self: Array, other: Array) -> Array:
    """ln(eˣ + eʸ)."""
    if self.dtype.kind == "c":
        larger = self.real >= other.real
        high, low = xp.where(larger, self, other), xp.where(larger, other, self)
        return xp.where(self == other, self + math.log(2), high + xp.log1p(xp.exp(low - high)))
    return _added_logarithms(xp, floating(self, "logaddexp_cpu"), other, xp.exp, 1.0)


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: grad / (1 + (other - self).exp2()),
        "other": lambda grad, self, other: grad / (1 + (self - other).exp2()),
    },
)
def logaddexp2(xp: Any, self: Array, other: Array) -> Array:
    """log₂(2ˣ + 2ʸ)."""
    return _added_logarithms(xp, floating(self, "logaddexp2_cpu"), other, xp.exp2, 1 / math.log(2))


@in_blocks
def _added_logarithms(xp: Any, x: Array, y: Array, power: Any, unit: float) -> Array:
    """max(x, y) + log(1 + b^−|x − y|), a logarithm to the base b being `unit` natural ones."""
    gap = xp.abs(x - y)
    total = xp.log1p(power(-gap)) * unit + xp.maximum(x, y)
    return xp.where(x == y, x + math.log(2) * unit, total)  # also where both are infinite


@declare(
    upcast=True,
    promotion="keep",
    variants="function method out",
    outputs=return_types.frexp,
    derivatives={"self": lambda grad, result1: grad / result1.to(grad.dtype).exp2()},
)
def frexp(xp: Any, self: Array) -> tuple[Array, Array]:
    """The mantissa in (−1, −½] or [½, 1) and the int32 exponent with mantissa · 2^exponent = x.

    Raises RuntimeError for other than real floating point numbers.
    """
    if self.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = (restrided(xp, each, kept_strides(self, each.itemsize)) for each in xp.frexp(self))
    return mantissa, exponent


@pointwise(
    overlap=(ANY_SOURCE,),
    promotion="to float",
    upcast=False,
    derivatives={
        "self": lambda grad, other: grad * conj(other.exp2()),
        "other": lambda grad, result: grad * conj(result) * math.log(2),
    },
)
def ldexp(xp: Any, self: Array, other: Array) -> Array:
    """self · 2^other."""
    return self * xp.exp2(other)
