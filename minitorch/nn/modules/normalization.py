"""Layer, group and RMS normalization. Source: https://pytorch.org/docs/stable/nn.html#normalization-layers"""

from __future__ import annotations

from dataclasses import InitVar, field
from typing import Any

from minitorch import Tensor
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Applied, Layer, layer
from minitorch.nn.modules.linear import parameter
from minitorch.nn.parameter import Parameter


class _Affine(Layer):
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


def _as_shape(sizes: Any) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


@layer
class LayerNorm(_Affine):
    """(x − mean) / √(var + eps) · weight + bias over the last dimensions: (N, …, *normalized_shape) → the same.

    `weight` starts as ones, `bias` as zeros, both of `normalized_shape` and only if `elementwise_affine`.
    Raises RuntimeError for an input with other last dimensions. Ba et al. 2016, https://arxiv.org/abs/1607.06450
    """

    normalized_shape: Any
    eps: float = 1e-5
    elementwise_affine: bool = True
    bias: InitVar[bool] = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        self.normalized_shape = shape = _as_shape(self.normalized_shape)
        self.register_parameter("weight", parameter(shape, self.elementwise_affine, device, dtype))
        self.register_parameter("bias", parameter(shape, self.elementwise_affine and bias, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


@layer
class GroupNorm(_Affine):
    """(x − mean) / √(var + eps) · weight + bias over each of `num_groups` groups of channels: (N, C, …) → the same.

    `weight` (C,) starts as ones, `bias` (C,) as zeros, both only if `affine`. Raises ValueError for groups that don't
    divide C, RuntimeError for an input of other channels. Wu and He 2018, https://arxiv.org/abs/1803.08494
    """

    num_groups: int
    num_channels: int
    eps: float = 1e-5
    affine: bool = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    bias: InitVar[bool] = field(default=True, kw_only=True)

    def __post_init__(self, device: Any, dtype: Any, bias: bool) -> None:
        if self.num_channels % self.num_groups:
            raise ValueError(f"num_channels ({self.num_channels}) must be divisible by num_groups ({self.num_groups})")
        self.register_parameter("weight", parameter(self.num_channels, self.affine, device, dtype))
        self.register_parameter("bias", parameter(self.num_channels, self.affine and bias, device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        sizes = f"{self.num_groups}, {self.num_channels}"
        return f"{sizes}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


@layer
class RMSNorm(_Affine):
    """x / √(mean(x²) + eps) · weight over the last dimensions: (N, …, *normalized_shape) → the same.

    `weight`, of `normalized_shape`, starts as ones. Raises RuntimeError for an input with other last dimensions.
    Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467
    """

    normalized_shape: Any
    eps: float | None = None
    elementwise_affine: bool = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, device: Any, dtype: Any) -> None:
        self.normalized_shape = _as_shape(self.normalized_shape)
        self.register_parameter("weight", parameter(self.normalized_shape, self.elementwise_affine, device, dtype))
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


@layer
class LocalResponseNorm(Applied, function="local_response_norm"):
    """x / (k + α · mean of x² over `size` neighbouring channels)^β: (N, C, …) → the same. Krizhevsky et al. 2012

    Raises ValueError for less than 3 dimensions.
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


@layer
class CrossMapLRN2d(Layer):
    """input / (k + α / size · Σ input²)^β for (N, C, H, W), the sum being over the `size` channels around each.

    As PyTorch's, it never takes the first channel out of the sum again. The gradient is that of what is computed;
    PyTorch's sums over channels that lie one further back. Returns a tensor of the same shape. Raises ValueError for
    another number of dimensions.
    Source: https://pytorch.org/docs/stable/generated/torch.nn.LocalResponseNorm.html, and its older form in
    torch/nn/modules/_functions.py
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels, reach = input.size(1), int((self.size - 1) / 2 + 1)
        summed = [[other == 0 or abs(other - c) < reach for c in range(channels)] for other in range(channels)]
        squares = (input * input).permute(0, 2, 3, 1) @ input.new_tensor(summed)
        return input * (squares.permute(0, 3, 1, 2) * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
