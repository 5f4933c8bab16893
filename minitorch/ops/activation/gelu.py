"""GELU: x Φ(x), Φ the normal distribution; or Φ approximated by tanh(√(2/π) (x + 0.044715 x³)).

Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415
Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import pointwise
from minitorch.dispatch.derived import derived
from minitorch.dispatch.errors import floating
from minitorch.kernels.gates import CUBIC, ROOT, gelu_gradient_into, gelu_into
from minitorch.tensor import Tensor


def _gelu_slope(x: Tensor, approximate: str) -> Any:
    if approximate == "none":
        return 0.5 * (1 + (x * 0.5**0.5).erf()) + x * (x * x * -0.5).exp() * (0.5 * ROOT)
    t = (ROOT * (x + CUBIC * x * x * x)).tanh()
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT * (1 + 3 * CUBIC * x * x)


@pointwise(
    saves_all=True,
    variants="",
    derivatives=derived(
        "grad_output, self", lambda grad_output, self, approximate: grad_output * _gelu_slope(self, approximate)
    ),
)
def gelu_backward(xp: Any, grad_output: Array, self: Array, approximate: str) -> Array:
    out = xp.empty_like(self)
    gelu_gradient_into(xp, out, grad_output, self, approximate)
    return out


@pointwise(
    keyword_only="approximate",
    variants="function out",
    namespace="nn.functional",
    derivatives={"input": lambda grad, input, approximate: gelu_backward(grad, input, approximate)},
)
def gelu(xp: Any, input: Array, approximate: str = "none") -> Array:
    """x Φ(x), with the normal distribution Φ; approximate="tanh" is ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Raises RuntimeError for another `approximate`. Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    out = xp.empty_like(floating(input, "gelu"))
    gelu_into(xp, out, input, approximate)
    return out
