"""Sine, cosine, tangent, the hyperbolic ones, their inverses, and angles, element by element.

Integers become the default dtype. Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import pointwise
from minitorch.dispatch.errors import floating
from minitorch.dispatch.iteration import like_first
from minitorch.dispatch.rounding import RoundedOnce
from minitorch.dtypes import FLOATING
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.tensor import Tensor


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * conj(self.cos())})
def sin(xp: Any, self: Array) -> Array:
    """Sine."""
    return xp.sin(self)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: -grad * conj(self.sin())})
def cos(xp: Any, self: Array) -> Array:
    """Cosine."""
    return xp.cos(self)


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, result: grad * conj(1 + result * result)},
    autocast_on_gpu="float32",
)
def tan(xp: Any, self: Array) -> Array:
    """Tangent."""
    return xp.tan(self)


@pointwise(
    promotion="to float",
    aliases="arcsin",
    derivatives={"self": lambda grad, self: grad * conj((1 - self * self).rsqrt())},
    autocast_on_gpu="float32",
)
def asin(xp: Any, self: Array) -> Array:
    """Inverse sine."""
    return xp.arcsin(self)


@pointwise(
    promotion="to float",
    aliases="arccos",
    derivatives={"self": lambda grad, self: -grad * conj((1 - self * self).rsqrt())},
    autocast_on_gpu="float32",
)
def acos(xp: Any, self: Array) -> Array:
    """Inverse cosine."""
    return xp.arccos(self)


@pointwise(
    promotion="to float", aliases="arctan", derivatives={"self": lambda grad, self: grad / conj(self * self + 1)}
)
def atan(xp: Any, self: Array) -> Array:
    """Inverse tangent."""
    return xp.arctan(self)


@pointwise(
    promotion="to float", derivatives={"self": lambda grad, self: grad * conj(self.cosh())}, autocast_on_gpu="float32"
)
def sinh(xp: Any, self: Array) -> Array:
    """Hyperbolic sine."""
    return xp.sinh(self)


@pointwise(
    promotion="to float", derivatives={"self": lambda grad, self: grad * conj(self.sinh())}, autocast_on_gpu="float32"
)
def cosh(xp: Any, self: Array) -> Array:
    """Hyperbolic cosine."""
    return xp.cosh(self)


@pointwise(
    promotion="to float", derivatives={"self": RoundedOnce(lambda grad, result: grad * conj(1 - result * result))}
)
def tanh(xp: Any, self: Array) -> Array:
    """Hyperbolic tangent."""
    return xp.tanh(self)


@pointwise(
    promotion="to float",
    aliases="arcsinh",
    derivatives={"self": lambda grad, self: grad * conj((self * self + 1).rsqrt())},
)
def asinh(xp: Any, self: Array) -> Array:
    """Inverse hyperbolic sine."""
    return xp.arcsinh(self)


def _acosh_slope(x: Tensor) -> Any:
    return (x - 1).rsqrt() * (x + 1).rsqrt() if x._dtype.is_complex else (x * x - 1).rsqrt()


@pointwise(
    promotion="to float", aliases="arccosh", derivatives={"self": lambda grad, self: grad * conj(_acosh_slope(self))}
)
def acosh(xp: Any, self: Array) -> Array:
    """Inverse hyperbolic cosine."""
    return xp.arccosh(self)


@pointwise(
    promotion="to float", aliases="arctanh", derivatives={"self": lambda grad, self: grad / conj(1 - self * self)}
)
def atanh(xp: Any, self: Array) -> Array:
    """Inverse hyperbolic tangent."""
    return xp.arctanh(self)


@pointwise(
    promotion="to float",
    categories=(FLOATING,),
    aliases="arctan2",
    derivatives={
        "self": lambda grad, self, other: _over_square(grad * other, self, other),
        "other": lambda grad, self, other: _over_square(grad * -self, self, other),
    },
    autocast_on_gpu="widest",
)
def atan2(xp: Any, self: Array, other: Array) -> Array:
    """The angle of the point (other, self)."""
    return xp.arctan2(self, other)


def _over_square(value: Tensor, self: Tensor, other: Tensor) -> Any:
    """value / (self² + other²), and 0 where both are 0."""
    square = self * self + other * other
    return (value * square.reciprocal()).masked_fill(square == 0, 0)


@pointwise(
    derivatives={
        "self": lambda grad, self, result: grad * self / result,
        "other": lambda grad, other, result: grad * other / result,
    }
)
def hypot(xp: Any, self: Array, other: Array) -> Array:
    """√(self² + other²)."""
    return xp.hypot(floating(self, "hypot_cpu"), other)


def _real(array: Array, function: str) -> Array:
    if array.dtype.kind == "c":
        raise RuntimeError(f"{function} is not supported for complex tensors.")
    return array


@pointwise(
    order=like_first,
    promotion="to float",
    derivatives={"self": lambda grad: grad * (math.pi / 180)},
    node="Deg2RadBackward0",
)
def deg2rad(xp: Any, self: Array) -> Array:
    """Degrees as radians."""
    return _real(self, "deg2rad") * (math.pi / 180)


@pointwise(
    order=like_first,
    promotion="to float",
    derivatives={"self": lambda grad: grad * (180 / math.pi)},
    node="Rad2DegBackward0",
)
def rad2deg(xp: Any, self: Array) -> Array:
    """Radians as degrees."""
    return _real(self, "rad2deg") * (180 / math.pi)
