"""GELU: x Φ(x), Φ the normal distribution; or Φ approximated by tanh(√(2/π) (x + 0.044715 x³)).

Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415
Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.backend import Array
from minitorch.ops.blocks import in_blocks
from minitorch.ops.declaration import composite, pointwise
from minitorch.ops.errors import floating
from minitorch.ops.numerics import polynomial
from minitorch.ops.special_kernels import erf
from minitorch.tensor import Tensor

_ROOT = (2 / math.pi) ** 0.5
_CUBIC = 0.044715

# For two-byte floats, whose digits below 0 depend on the error of erf: the formula of PyTorch's vector instructions,
# with an error of 1.5e-7. Abramowitz and Stegun 7.1.26.
_COARSE = (0.0, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_SATURATED = 8.664339742  # where their tanh is 1


def _coarse_erf(xp: Any, x: Array) -> Array:
    t = 1 / (0.3275911 * xp.abs(x) + 1)
    return xp.copysign(1 - polynomial(t, _COARSE) * xp.exp(-x * x), x)


def _erf_of_root(xp: Any, x: Array, two_bytes: bool) -> Array:
    """erf(x/√2)."""
    return (_coarse_erf if two_bytes else erf)(xp, x * 0.5**0.5)


def _tanh_of_cubic(xp: Any, x: Array, two_bytes: bool) -> Array:
    inner = _ROOT * (x + _CUBIC * (x * x * x))
    if not two_bytes:
        return xp.tanh(inner)
    t = xp.tanh(inner.astype("float64"))  # of float32, the last digit differs
    return xp.where(xp.abs(inner) > _SATURATED, xp.sign(inner), t).astype("float32")


def _gelu_slope(x: Tensor, approximate: str) -> Any:
    if approximate == "none":
        return 0.5 * (1 + (x * 0.5**0.5).erf()) + x * (x * x * -0.5).exp() * (0.5 * _ROOT)
    t = (_ROOT * (x + _CUBIC * x * x * x)).tanh()
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _ROOT * (1 + 3 * _CUBIC * x * x)


@pointwise(
    upcast=False,
    variants="",
    derivatives={
        "grad_output": lambda grad, self, approximate: grad * _gelu_slope(self, approximate),
        "self": lambda grad, grad_output, self, approximate: grad * grad_output * _gelu_curvature(self, approximate),
    },
)
def gelu_backward(xp: Any, grad_output: Array, self: Array, approximate: str) -> Array:
    kind, two_bytes = self.dtype, self.dtype.itemsize == 2

    def backward(grad: Array, x: Array) -> Array:
        if two_bytes:
            grad, x = grad.astype("float32"), x.astype("float32")
        square = x * x
        if approximate == "none":
            slope = 0.5 * (1 + _erf_of_root(xp, x, two_bytes)) + x * (xp.exp(square * -0.5) * (0.5 * _ROOT))
        else:
            t = _tanh_of_cubic(xp, x, two_bytes)
            slope = 0.5 * (1 + t) + (0.5 * x) * (1 - t * t) * (_ROOT * (1 + 3 * _CUBIC * square))
        return (slope * grad).astype(kind, copy=False)

    return in_blocks(xp, backward, grad_output, self)


def _gelu_curvature(x: Tensor, approximate: str) -> Any:
    if approximate == "none":
        return (2 - x * x) * (x * x * -0.5).exp() * (0.5 * _ROOT)
    inner, slope = _ROOT * (x + _CUBIC * x * x * x), _ROOT * (1 + 3 * _CUBIC * x * x)
    t = inner.tanh()
    return (1 - t * t) * (slope + x * (3 * _CUBIC * _ROOT * x - t * slope * slope))


@pointwise(
    upcast=False,
    variants="",
    node="GeluBackward0",
    derivatives={"self": lambda grad, self, approximate: gelu_backward(grad, self, approximate)},
)
def _gelu(xp: Any, self: Array, approximate: str) -> Array:
    floating(self, "GeluKernelImpl")
    kind, two_bytes = self.dtype, self.dtype.itemsize == 2

    def gate(x: Array) -> Array:
        if two_bytes:
            x = x.astype("float32")
        t = (_erf_of_root if approximate == "none" else _tanh_of_cubic)(xp, x, two_bytes)
        t += 1
        t *= 0.5 * x
        return t.astype(kind, copy=False)

    return in_blocks(xp, gate, self)


@composite(variants="function out", namespace="nn.functional")
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x), with the normal distribution Φ; approximate="tanh" is faster.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    result: Tensor = _gelu(input, approximate)
    return result
