"""The nonlinearities that are made of straight lines: hard versions of the smooth ones, and those that shrink.

Source: https://pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, pointwise
from minitorch.dispatch.errors import floating
from minitorch.dispatch.out_types import SAME_TYPE
from minitorch.dispatch.rounding import RoundedOnce
from minitorch.dtypes import FROM_NUMPY, finfo, float64, type_name
from minitorch.kernels.masking import keep
from minitorch.ops.activation.common import activation
from minitorch.ops.pointwise.masking import masked
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor

_SIXTH = 11184811 / 2**26  # in single precision, also for doubles, as in PyTorch


@activation(derivatives={"self": lambda grad, self: masked(grad * _SIXTH, self, (self > -3) & (self < 3))})
def hardsigmoid(xp: Any, self: Array) -> Array:
    """x/6 + ½, clamped to [0, 1]."""
    return xp.clip(floating(self, "hardsigmoid_cpu") + 3, 0, 6) / 6


def _hardswish_gradient(grad: Tensor, self: Tensor) -> Any:
    return (grad * (self / 3 + 0.5)).where(self < 3, grad).masked_fill(self <= -3, 0)


@activation(derivatives={"self": RoundedOnce(_hardswish_gradient)})
def hardswish(xp: Any, self: Array) -> Array:
    """x · hardsigmoid(x). Howard et al. 2019, https://arxiv.org/abs/1905.02244"""
    return self * xp.clip(floating(self, "hardswish_cpu") + 3, 0, 6) / 6


@pointwise(
    out_type=SAME_TYPE,
    variants="function method out",
    upcast=False,
    derivatives={"self": lambda grad, self, lambd: masked(grad, self, ~((self >= -lambd) & (self <= lambd)))},
)
def hardshrink(xp: Any, self: Array, lambd: float = 0.5) -> Array:
    """x where |x| > lambd, else 0. https://pytorch.org/docs/stable/generated/torch.nn.functional.hardshrink.html"""
    floating(self, "hardshrink_cpu")
    lambd = to_scalar(lambd, FROM_NUMPY[self.dtype])
    return keep(xp, self, ~((self >= -lambd) & (self <= lambd)))


composite(variants="function", namespace="nn.functional", asks=False)(hardshrink)


@pointwise(
    variants="function out",
    namespace="nn.functional",
    derivatives={"self": lambda grad, self, lambd: masked(grad, self, ~((self >= -lambd) & (self <= lambd)))},
)
def softshrink(xp: Any, self: Array, lambd: float = 0.5) -> Array:
    """x − λ for x > λ, x + λ for x < −λ, else 0, λ = `lambd`. Raises RuntimeError for a negative λ."""
    lambd = to_scalar(lambd, float64)
    floating(self, "softshrink_check")
    highest = finfo(FROM_NUMPY[self.dtype]).max
    if not 0 <= lambd <= highest:
        raise RuntimeError(
            f"lambda must be in range [0, {highest:g}] for input dtype {type_name(self)}, but found {lambd:g}"
        )
    return self - xp.clip(self, -lambd, lambd)


@composite(variants="function", namespace="nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """x − tanh x, in the shape and dtype of `input`."""
    return input - input.tanh()


@composite(variants="function", namespace="nn.functional")
def softsign(input: Tensor) -> Tensor:
    """x/(1 + |x|), in the shape and dtype of `input`."""
    return input / (input.abs() + 1)
