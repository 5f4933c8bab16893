"""The sign of a number, and steps at zero, element by element.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import pointwise, zero_gradient
from minitorch.dispatch.errors import no_derivative
from minitorch.dispatch.out_types import SAME_TYPE
from minitorch.dtypes import FLOATING
from minitorch.layout import copy_in, preserve_format
from minitorch.tensor import Tensor


@pointwise(out_type=SAME_TYPE, derivatives={"self": zero_gradient})
def sign(xp: Any, self: Array) -> Array:
    """−1, 0 or 1. Raises NotImplementedError for complex numbers."""
    if self.dtype.kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    return _direction(xp, self)


def _direction(xp: Any, self: Array) -> Array:
    """x/|x|; 0 for 0, and for a real NaN."""
    if self.dtype.kind == "b":
        return copy_in(xp, self, self.dtype, preserve_format)
    if self.dtype.kind == "c":
        size = xp.abs(self)
        return xp.where(size == 0, xp.zeros((), self.dtype), self / size)
    return xp.subtract((self > 0).view("int8"), (self < 0).view("int8")).astype(self.dtype)


def _sgn_gradient(grad: Tensor, self: Tensor, result: Tensor) -> Any:
    """Of x/|x|: what is left of the gradient across the direction of x, over |x|."""
    if not self._dtype.is_complex:
        return zero_gradient(grad)
    size = self.abs()
    across = (grad - grad.conj() * result * result) / 2
    return (across / size).masked_fill(size == 0, 0)


@pointwise(out_type=SAME_TYPE, derivatives={"self": _sgn_gradient})
def sgn(xp: Any, self: Array) -> Array:
    """x/|x|, and 0 for 0: sign, for complex numbers too."""
    return _direction(xp, self)


@pointwise(
    promotion="to float",
    categories=(FLOATING,),
    node=lambda self, other: f"CopysignBackward{int(not isinstance(other, Tensor))}",
    derivatives={
        "self": lambda grad, self, result: (grad * (result / self)).masked_fill(self == 0, 0),
        "other": zero_gradient,
    },
)
def copysign(xp: Any, self: Array, other: Array | Number) -> Array:
    """|self| with the sign of `other`."""
    return xp.copysign(self, other)


@pointwise(
    out_type=SAME_TYPE,
    promotion="none",
    upcast=False,
    node="torch::autograd::NotImplemented",
    derivatives={"self, values": no_derivative("heaviside")},
)
def heaviside(xp: Any, self: Array, values: Array) -> Array:
    """0 for negative numbers, 1 for positive ones, `values` for 0. Raises RuntimeError for different dtypes."""
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return xp.where(self == 0, values, (self > 0).astype(self.dtype))
