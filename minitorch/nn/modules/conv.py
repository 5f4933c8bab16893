"""Convolutional layers. Source: https://pytorch.org/docs/stable/nn.html#convolution-layers"""

from __future__ import annotations

import math
from dataclasses import InitVar, field
from typing import Any

from minitorch import Tensor, empty
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.lazy import LazyLayer
from minitorch.nn.modules.linear import parameter
from minitorch.nn.modules.utils import _ntuple, changed
from minitorch.nn.parameter import Parameter

Ints = tuple[int, ...]

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Layer):
    """`weight` and `bias` start uniform in ±1/√(in_channels / groups · ∏ kernel_size).

    `padding_mode` is "zeros", "reflect", "replicate" or "circular". Raises ValueError for groups that don't divide the
    channels and for an unknown mode, RuntimeError for an input of another number of dimensions or channels, or smaller
    than the kernel.
    """

    in_channels: int
    out_channels: int
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    output_padding: Any = 0
    groups: int
    padding_mode: str

    def __post_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        each = _ntuple(self.n)
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        if self.out_channels % self.groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'valid', 'same'}}")
            if self.padding == "same" and any(s != 1 for s in each(self.stride)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{self.padding_mode}'"
            )
        self.kernel_size, self.stride, self.dilation = each(self.kernel_size), each(self.stride), each(self.dilation)
        self.padding = self.padding if isinstance(self.padding, str) else each(self.padding)
        self.output_padding = each(self.output_padding)
        self.transposed = isinstance(self, _ConvTransposeNd)
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        self.register_parameter("bias", parameter(self.out_channels, bias, device, dtype))
        self.reset_parameters()

    def _weight_shape(self) -> Ints:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draws new weights and biases, uniform in ±1/√fan_in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * self.n, (1,) * self.n
        shown += changed(self, padding=zeros, dilation=ones, output_padding=zeros, groups=1)
        if self.bias is None:
            shown += ", bias=False"
        return shown + changed(self, padding_mode="zeros")


@layer
class _Conv(_ConvNd):
    """y[o, p] = Σ_{c, k} weight[o, c, k] · x[c, stride·p + dilation·k − padding] + bias[o].

    (N, C, *spatial) or (C, *spatial) → (N, O, *output), output = ⌊(size + 2 padding − dilation (kernel − 1) − 1) /
    stride⌋ + 1; C is `in_channels`, O `out_channels`; `weight` (O, C / groups, *kernel), `bias` (O,).
    """

    in_channels: int
    out_channels: int
    kernel_size: Any
    stride: Any = 1
    padding: Any = 0
    dilation: Any = 1
    groups: int = 1
    bias: InitVar[bool] = True
    padding_mode: str = "zeros"
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._padding_list(), mode=self.padding_mode)
            padding = (0,) * self.n
        convolve = getattr(F, f"conv{self.n}d")
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _padding_list(self) -> list[int]:
        """What `F.pad` is told: (before, after) of the last dimension first."""
        if self.padding == "valid":
            return [0, 0] * self.n
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for each in reversed(total) for side in (each // 2, each - each // 2)]
        return [side for each in reversed(self.padding) for side in (each, each)]


class Conv1d(_Conv, n=1):
    """Convolution of (N, C, L)."""


class Conv2d(_Conv, n=2):
    """Convolution of (N, C, H, W)."""


class Conv3d(_Conv, n=3):
    """Convolution of (N, C, D, H, W)."""


@layer
class _ConvTransposeNd(_ConvNd):
    """Every x[c, p] · weight[c, o, k] added up at stride·p + dilation·k − padding: the gradient of a convolution.

    (N, C, *spatial) or (C, *spatial) → (N, O, *output), size (size − 1) stride − 2 padding + dilation (kernel − 1) +
    output_padding + 1; C is `in_channels`, O `out_channels`; `weight` (C, O / groups, *kernel), `bias` (O,).
    `forward` also takes the `output_size`, and raises ValueError for one that no output padding gives.
    """

    in_channels: int
    out_channels: int
    kernel_size: Any
    stride: Any = 1
    padding: Any = 0
    output_padding: Any = 0
    groups: int = 1
    bias: InitVar[bool] = True
    dilation: Any = 1
    padding_mode: str = "zeros"
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        if self.padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__post_init__(bias, device, dtype)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        convolve = getattr(F, f"conv_transpose{self.n}d")
        return convolve(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _extra(self, input: Tensor, output_size: Any) -> Ints:
        """The output padding that makes the output have a size. Raises ValueError for sizes out of reach."""
        leading = input.dim() - self.n
        if len(output_size) not in (self.n, leading + self.n):
            raise ValueError(
                f"ConvTranspose{self.n}D: for {input.dim()}D input, output_size must have {self.n} or "
                f"{leading + self.n} elements (got {len(output_size)})"
            )
        wanted = output_size[leading:] if len(output_size) == leading + self.n else output_size
        padding: Any = self.padding
        smallest: list[int] = [
            (s - 1) * t - 2 * p + d * (k - 1) + 1
            for s, t, p, d, k in zip(
                input.shape[-self.n :], self.stride, padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        largest = [low + t - 1 for low, t in zip(smallest, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(smallest, wanted, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, smallest, strict=True))


class ConvTranspose1d(_ConvTransposeNd, n=1):
    """Transposed convolution of (N, C, L)."""


class ConvTranspose2d(_ConvTransposeNd, n=2):
    """Transposed convolution of (N, C, H, W)."""


class ConvTranspose3d(_ConvTransposeNd, n=3):
    """Transposed convolution of (N, C, D, H, W)."""


@layer
class _LazyConv(LazyLayer):
    """The first input (N, C, *spatial) initializes the parameters, and makes it the class that it stands for."""

    size = "in_channels"
    in_channels: int = field(init=False)

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            if input.dim() not in (self.n + 1, self.n + 2):
                raise RuntimeError(
                    f"Expected {self.n + 1}D (unbatched) or {self.n + 2}D (batched) input to {type(self).__name__}, "
                    f"but got input of size: {input.shape}"
                )
            self.in_channels = channels = input.shape[-self.n - 1]
            if channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


@layer
class LazyConv1d(_LazyConv, Conv1d, cls_to_become=Conv1d):
    """A Conv1d that takes `in_channels` from its first input."""


@layer
class LazyConv2d(_LazyConv, Conv2d, cls_to_become=Conv2d):
    """A Conv2d that takes `in_channels` from its first input."""


@layer
class LazyConv3d(_LazyConv, Conv3d, cls_to_become=Conv3d):
    """A Conv3d that takes `in_channels` from its first input."""


@layer
class LazyConvTranspose1d(_LazyConv, ConvTranspose1d, cls_to_become=ConvTranspose1d):
    """A ConvTranspose1d that takes `in_channels` from its first input."""


@layer
class LazyConvTranspose2d(_LazyConv, ConvTranspose2d, cls_to_become=ConvTranspose2d):
    """A ConvTranspose2d that takes `in_channels` from its first input."""


@layer
class LazyConvTranspose3d(_LazyConv, ConvTranspose3d, cls_to_become=ConvTranspose3d):
    """A ConvTranspose3d that takes `in_channels` from its first input."""
