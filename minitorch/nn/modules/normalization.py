"""Layer, group and RMS normalization. Source: https://pytorch.org/docs/stable/nn.html#normalization-layers"""

from __future__ import annotations

from typing import Any

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.ops.creation import empty
from minitorch.tensor import Tensor


def _parameter(shape: Any, present: bool, device: Any, dtype: Any) -> Parameter | None:
    return Parameter(empty(shape, device=device, dtype=dtype)) if present else None


class _Affine(Module):
    """Has a weight and a bias, either of which may be missing."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Sets weights to 1 and biases to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        bias = getattr(self, "bias", None)
        if bias is not None:
            init.zeros_(bias)


class LayerNorm(_Affine):
    """Normalizes over the last dimensions. Source: https://pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html"""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape
        self.register_parameter("weight", _parameter(shape, elementwise_affine, device, dtype))
        self.register_parameter("bias", _parameter(shape, elementwise_affine and bias, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Normalizes groups of channels. Source: https://pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html"""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", _parameter(num_channels, affine, device, dtype))
        self.register_parameter("bias", _parameter(num_channels, affine and bias, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        sizes = f"{self.num_groups}, {self.num_channels}"
        return f"{sizes}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(_Affine):
    """Divides by the root of the mean square.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", _parameter(self.normalized_shape, elementwise_affine, device, dtype))
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Divides by the energy of neighbouring channels (Krizhevsky et al. 2012)."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """input / (k + α / size · Σ input²)^β for (N, C, H, W), the sum being over the `size` channels around each.

    As PyTorch's, it never takes the first channel out of the sum again. The gradient is that of what is computed;
    PyTorch's sums over channels that lie one further back.
    Source: https://pytorch.org/docs/stable/generated/torch.nn.LocalResponseNorm.html, and its older form in
    torch/nn/modules/_functions.py
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels, reach = input.size(1), int((self.size - 1) / 2 + 1)
        summed = [[other == 0 or abs(other - c) < reach for c in range(channels)] for other in range(channels)]
        squares = (input * input).permute(0, 2, 3, 1) @ input.new_tensor(summed)
        return input * (squares.permute(0, 3, 1, 2) * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
