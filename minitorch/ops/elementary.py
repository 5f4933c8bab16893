"""Roots, exponentials, logarithms, trigonometry and rounding, element by element.

Integers become the default dtype. Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.backend import Array
from minitorch.layout import copy_in, kept_strides, preserve_format, restrided
from minitorch.ops.blocks import choose, in_blocks
from minitorch.ops.declaration import declare, pointwise
from minitorch.ops.errors import floating, not_implemented
from minitorch.ops.pointwise import conj
from minitorch.ops.rounding import RoundedOnce
from minitorch.tensor import Tensor

Number = Any


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad / (2 * conj(result))})
def sqrt(xp: Any, self: Array) -> Array:
    """√self; NaN for negative numbers. https://pytorch.org/docs/stable/generated/torch.sqrt.html"""
    return xp.sqrt(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: -0.5 * grad * conj(result.pow(3))})
def rsqrt(xp: Any, self: Array) -> Array:
    """1/√self. https://pytorch.org/docs/stable/generated/torch.rsqrt.html"""
    return 1 / xp.sqrt(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: -grad * conj(result * result)})
def reciprocal(xp: Any, self: Array) -> Array:
    """1/self. https://pytorch.org/docs/stable/generated/torch.reciprocal.html"""
    return xp.reciprocal(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad * conj(result)})
def exp(xp: Any, self: Array) -> Array:
    """eˣ. https://pytorch.org/docs/stable/generated/torch.exp.html"""
    return xp.exp(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad * conj(result) * math.log(2)})
def exp2(xp: Any, self: Array) -> Array:
    """2ˣ. https://pytorch.org/docs/stable/generated/torch.exp2.html"""
    return xp.exp2(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad * (conj(result) + 1)})
def expm1(xp: Any, self: Array) -> Array:
    """eˣ − 1, accurate near 0. https://pytorch.org/docs/stable/generated/torch.expm1.html"""
    return xp.expm1(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad / conj(self)})
def log(xp: Any, self: Array) -> Array:
    """ln x. https://pytorch.org/docs/stable/generated/torch.log.html"""
    return xp.log(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad / conj(self * math.log(2))})
def log2(xp: Any, self: Array) -> Array:
    """log₂ x. https://pytorch.org/docs/stable/generated/torch.log2.html"""
    return xp.log2(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad / conj(self * math.log(10))})
def log10(xp: Any, self: Array) -> Array:
    """log₁₀ x. https://pytorch.org/docs/stable/generated/torch.log10.html"""
    return xp.log10(self)


@pointwise(promotion="to float", node="Log1PBackward0", derivatives={"self": lambda grad, self: grad / conj(self + 1)})
def log1p(xp: Any, self: Array) -> Array:
    """ln(1 + x), accurate near 0. https://pytorch.org/docs/stable/generated/torch.log1p.html"""
    return xp.log1p(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * conj(self.cos())})
def sin(xp: Any, self: Array) -> Array:
    """Sine. https://pytorch.org/docs/stable/generated/torch.sin.html"""
    return xp.sin(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: -grad * conj(self.sin())})
def cos(xp: Any, self: Array) -> Array:
    """Cosine. https://pytorch.org/docs/stable/generated/torch.cos.html"""
    return xp.cos(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad * conj(1 + result * result)})
def tan(xp: Any, self: Array) -> Array:
    """Tangent. https://pytorch.org/docs/stable/generated/torch.tan.html"""
    return xp.tan(self)


@pointwise(
    promotion="to float",
    aliases="arcsin",
    derivatives={"self": lambda grad, self: grad * conj((1 - self * self).rsqrt())},
)
def asin(xp: Any, self: Array) -> Array:
    """Inverse sine. https://pytorch.org/docs/stable/generated/torch.asin.html"""
    return xp.arcsin(self)


@pointwise(
    promotion="to float",
    aliases="arccos",
    derivatives={"self": lambda grad, self: -grad * conj((1 - self * self).rsqrt())},
)
def acos(xp: Any, self: Array) -> Array:
    """Inverse cosine. https://pytorch.org/docs/stable/generated/torch.acos.html"""
    return xp.arccos(self)


@pointwise(
    promotion="to float", aliases="arctan", derivatives={"self": lambda grad, self: grad / conj(self * self + 1)}
)
def atan(xp: Any, self: Array) -> Array:
    """Inverse tangent. https://pytorch.org/docs/stable/generated/torch.atan.html"""
    return xp.arctan(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * conj(self.cosh())})
def sinh(xp: Any, self: Array) -> Array:
    """Hyperbolic sine. https://pytorch.org/docs/stable/generated/torch.sinh.html"""
    return xp.sinh(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * conj(self.sinh())})
def cosh(xp: Any, self: Array) -> Array:
    """Hyperbolic cosine. https://pytorch.org/docs/stable/generated/torch.cosh.html"""
    return xp.cosh(self)


@pointwise(
    promotion="to float", derivatives={"self": RoundedOnce(lambda grad, result: grad * conj(1 - result * result))}
)
def tanh(xp: Any, self: Array) -> Array:
    """Hyperbolic tangent. https://pytorch.org/docs/stable/generated/torch.tanh.html"""
    return xp.tanh(self)


@pointwise(
    promotion="to float",
    aliases="arcsinh",
    derivatives={"self": lambda grad, self: grad * conj((self * self + 1).rsqrt())},
)
def asinh(xp: Any, self: Array) -> Array:
    """Inverse hyperbolic sine. https://pytorch.org/docs/stable/generated/torch.asinh.html"""
    return xp.arcsinh(self)


def _acosh_slope(x: Tensor) -> Any:
    return (x - 1).rsqrt() * (x + 1).rsqrt() if x._dtype.is_complex else (x * x - 1).rsqrt()


@pointwise(
    promotion="to float",
    aliases="arccosh",
    derivatives={"self": lambda grad, self: grad * conj(_acosh_slope(self))},
)
def acosh(xp: Any, self: Array) -> Array:
    """Inverse hyperbolic cosine. https://pytorch.org/docs/stable/generated/torch.acosh.html"""
    return xp.arccosh(self)


@pointwise(
    promotion="to float", aliases="arctanh", derivatives={"self": lambda grad, self: grad / conj(1 - self * self)}
)
def atanh(xp: Any, self: Array) -> Array:
    """Inverse hyperbolic tangent. https://pytorch.org/docs/stable/generated/torch.atanh.html"""
    return xp.arctanh(self)


@pointwise(
    promotion="to float",
    aliases="arctan2",
    derivatives={
        "self": lambda grad, self, other: _over_square(grad * other, self, other),
        "other": lambda grad, self, other: _over_square(grad * -self, self, other),
    },
)
def atan2(xp: Any, self: Array, other: Array) -> Array:
    """The angle of the point (other, self). https://pytorch.org/docs/stable/generated/torch.atan2.html"""
    return xp.arctan2(self, other)


def _over_square(value: Tensor, self: Tensor, other: Tensor) -> Any:
    """value / (self² + other²), and 0 where both are 0."""
    square = self * self + other * other
    return (value * square.reciprocal()).masked_fill(square == 0, 0)


@pointwise(
    derivatives={
        "self": lambda grad, self, result: grad * self / result,
        "other": lambda grad, other, result: grad * other / result,
    },
)
def hypot(xp: Any, self: Array, other: Array) -> Array:
    """√(self² + other²). https://pytorch.org/docs/stable/generated/torch.hypot.html"""
    return xp.hypot(floating(self, "hypot_cpu"), other)


def _real(array: Array, function: str) -> Array:
    if array.dtype.kind == "c":
        raise RuntimeError(f"{function} is not supported for complex tensors.")
    return array


@pointwise(promotion="to float", derivatives={"self": lambda grad: grad * (math.pi / 180)}, node="Deg2RadBackward0")
def deg2rad(xp: Any, self: Array) -> Array:
    """Degrees as radians. https://pytorch.org/docs/stable/generated/torch.deg2rad.html"""
    return _real(self, "deg2rad") * (math.pi / 180)


@pointwise(promotion="to float", derivatives={"self": lambda grad: grad * (180 / math.pi)}, node="Rad2DegBackward0")
def rad2deg(xp: Any, self: Array) -> Array:
    """Radians as degrees. https://pytorch.org/docs/stable/generated/torch.rad2deg.html"""
    return _real(self, "rad2deg") * (180 / math.pi)


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: grad / (1 + (other - self).exp()),
        "other": lambda grad, self, other: grad / (1 + (self - other).exp()),
    },
)
def logaddexp(xp: Any, self: Array, other: Array) -> Array:
    """ln(eˣ + eʸ). https://pytorch.org/docs/stable/generated/torch.logaddexp.html"""
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
    """log₂(2ˣ + 2ʸ). https://pytorch.org/docs/stable/generated/torch.logaddexp2.html"""
    return _added_logarithms(xp, floating(self, "logaddexp2_cpu"), other, xp.exp2, 1 / math.log(2))


def _added_logarithms(xp: Any, self: Array, other: Array, power: Any, unit: float) -> Array:
    """max(x, y) + log(1 + b^−|x − y|), a logarithm to the base b being `unit` natural ones."""

    def add(x: Array, y: Array) -> Array:
        gap = xp.abs(x - y)
        total = xp.log1p(power(-gap)) * unit + xp.maximum(x, y)
        return choose(xp, x == y, x + math.log(2) * unit, total)  # also where both are infinite

    return in_blocks(xp, add, self, other)


# Rounding. The gradient is zero everywhere; integers stay as they are.


def _flat(grad: Tensor) -> Tensor:
    zeros: Tensor = grad.new_zeros(grad.shape)
    return zeros


def _rounded(xp: Any, function: Any, array: Array, name: str) -> Array:
    if array.dtype.kind in "fiu":
        return function(array) if array.dtype.kind == "f" else copy_in(xp, array, array.dtype, preserve_format)
    if array.dtype.kind == "c" and name != "round":
        raise NotImplementedError(f"{name} is not supported for complex inputs")
    raise not_implemented(f"{name}_vml_cpu", array.dtype.name)


@pointwise(derivatives={"self": _flat})
def ceil(xp: Any, self: Array) -> Array:
    """⌈x⌉. https://pytorch.org/docs/stable/generated/torch.ceil.html"""
    return _rounded(xp, xp.ceil, self, "ceil")


@pointwise(derivatives={"self": _flat})
def floor(xp: Any, self: Array) -> Array:
    """⌊x⌋. https://pytorch.org/docs/stable/generated/torch.floor.html"""
    return _rounded(xp, xp.floor, self, "floor")


@pointwise(aliases="fix", derivatives={"self": _flat})
def trunc(xp: Any, self: Array) -> Array:
    """x rounded towards zero. https://pytorch.org/docs/stable/generated/torch.trunc.html"""
    return _rounded(xp, xp.trunc, self, "trunc")


@pointwise(derivatives={"self": _flat}, node=lambda self, decimals: f"RoundBackward{int(decimals != 0)}")
def round(xp: Any, self: Array, *, decimals: int = 0) -> Array:
    """x rounded to the nearest, halves to even. https://pytorch.org/docs/stable/generated/torch.round.html"""
    if not decimals:
        return _rounded(xp, xp.rint, self, "round")
    if self.dtype.kind != "f":
        raise not_implemented("round_cpu", self.dtype.name)
    scale = 10.0 ** abs(decimals)
    return xp.rint(self * scale) / scale if decimals > 0 else xp.rint(self / scale) * scale


@pointwise(derivatives={"self": lambda grad: grad})
def frac(xp: Any, self: Array) -> Array:
    """x − trunc(x). https://pytorch.org/docs/stable/generated/torch.frac.html"""
    if self.dtype.kind != "f":
        raise not_implemented("frac_cpu", self.dtype.name)
    return self - xp.trunc(self)


@declare(
    upcast=True,
    promotion="keep",
    variants="function method out",
    outputs=return_types.frexp,
    derivatives={"self": lambda grad, result1: grad / result1.to(grad.dtype).exp2()},
)
def frexp(xp: Any, self: Array) -> tuple[Array, Array]:
    """The mantissa in (−1, −½] or [½, 1) and the int32 exponent with mantissa · 2^exponent = x.

    Raises RuntimeError for other than real floating point numbers. https://pytorch.org/docs/stable/generated/torch.frexp.html
    """
    if self.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = (restrided(xp, each, kept_strides(self, each.itemsize)) for each in xp.frexp(self))
    return mantissa, exponent


@pointwise(
    promotion="to float",
    upcast=False,
    derivatives={
        "self": lambda grad, other: grad * conj(other.exp2()),
        "other": lambda grad, result: grad * conj(result) * math.log(2),
    },
)
def ldexp(xp: Any, self: Array, other: Array) -> Array:
    """self · 2^other. https://pytorch.org/docs/stable/generated/torch.ldexp.html"""
    return self * xp.exp2(other)
