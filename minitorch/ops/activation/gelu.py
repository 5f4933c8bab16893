"""GELU: x Φ(x), Φ the normal distribution; or Φ approximated by tanh(√(2/π) (x + 0.044715 x³)).

Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415
Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.blocks import in_blocks
from minitorch.dispatch.declaration import pointwise
from minitorch.dispatch.derived import derived
from minitorch.dispatch.errors import floating
from minitorch.kernels.special import erf
from minitorch.tensor import Tensor

_ROOT = (2 / math.pi) ** 0.5
_CUBIC = 0.044715


def _of_normal(xp: Any, x: Array, approximate: str) -> Array:
    """2 Φ(x) − 1: erf(x/√2), or the tanh that approximates it."""
    return erf(xp, x * 0.5**0.5) if approximate == "none" else xp.tanh(_ROOT * (x + _CUBIC * (x * x * x)))


def _gelu_slope(x: Tensor, approximate: str) -> Any:
    if approximate == "none":
        return 0.5 * (1 + (x * 0.5**0.5).erf()) + x * (x * x * -0.5).exp() * (0.5 * _ROOT)
    t = (_ROOT * (x + _CUBIC * x * x * x)).tanh()
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _ROOT * (1 + 3 * _CUBIC * x * x)


@pointwise(
    variants="",
    derivatives=derived(
        "grad_output, self", lambda grad_output, self, approximate: grad_output * _gelu_slope(self, approximate)
    ),
)
def gelu_backward(xp: Any, grad_output: Array, self: Array, approximate: str) -> Array:
    return _gradient(xp, grad_output, self, approximate)


@in_blocks
def _gradient(xp: Any, grad: Array, x: Array, approximate: str) -> Array:
    square, t = x * x, _of_normal(xp, x, approximate)
    if approximate == "none":
        slope = 0.5 * (1 + t) + x * (xp.exp(square * -0.5) * (0.5 * _ROOT))
    else:
        slope = 0.5 * (1 + t) + (0.5 * x) * (1 - t * t) * (_ROOT * (1 + 3 * _CUBIC * square))
    return slope * grad


@pointwise(
    variants="function out",
    namespace="nn.functional",
    derivatives={"self": lambda grad, self, approximate: gelu_backward(grad, self, approximate)},
)
def gelu(xp: Any, self: Array, approximate: str = "none") -> Array:
    """x Φ(x), with the normal distribution Φ; approximate="tanh" is faster."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gated(xp, floating(self, "gelu"), approximate)


@in_blocks
def _gated(xp: Any, x: Array, approximate: str) -> Array:
    t = _of_normal(xp, x, approximate)
    t += 1
    t *= 0.5 * x
    return t
