"""Convolutional layers. Source: https://pytorch.org/docs/stable/nn.html#convolution-layers"""

from __future__ import annotations

import math
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.lazy import LazyModuleMixin
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.utils import _ntuple
from minitorch.nn.parameter import Parameter, UninitializedParameter
from minitorch.ops.creation import empty
from minitorch.tensor import Tensor

Ints = tuple[int, ...]

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolutions share: n is the number of spatial dimensions."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]

    n: int
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        geometry: tuple[Any, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        **where: Any,
    ) -> None:
        """`geometry` is (kernel_size, stride, padding, dilation, output_padding)."""
        kernel_size, stride, padding, dilation, output_padding = geometry
        super().__init__()
        each = _ntuple(self.n)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
            if padding == "same" and any(s != 1 for s in each(stride)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size)
        self.stride = each(stride)
        self.padding = padding if isinstance(padding, str) else each(padding)
        self.dilation = each(dilation)
        self.transposed = isinstance(self, _ConvTransposeNd)
        self.output_padding = each(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        self.weight = Parameter(empty(self._weight_shape(), **where))
        if bias:
            self.bias = Parameter(empty(out_channels, **where))
        else:
            self.register_parameter("bias", None)
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
        if self.padding != zeros:
            shown += f", padding={self.padding}"
        if self.dilation != ones:
            shown += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        if self.padding_mode != "zeros":
            shown += f", padding_mode={self.padding_mode}"
        return shown


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        geometry = kernel_size, stride, padding, dilation, 0
        super().__init__(in_channels, out_channels, geometry, groups, bias, padding_mode, device=device, dtype=dtype)

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
        return [side for each in reversed(self.padding) for side in (each, each)]  # type: ignore[misc]


class Conv1d(_Conv):
    """Convolution of (N, C, L). Source: https://pytorch.org/docs/stable/generated/torch.nn.Conv1d.html"""

    n = 1


class Conv2d(_Conv):
    """Convolution of (N, C, H, W). Source: https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html"""

    n = 2


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W). Source: https://pytorch.org/docs/stable/generated/torch.nn.Conv3d.html"""

    n = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        geometry = kernel_size, stride, padding, dilation, output_padding
        super().__init__(in_channels, out_channels, geometry, groups, bias, padding_mode, device=device, dtype=dtype)

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


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L)."""

    n = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W)."""

    n = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W)."""

    n = 3


class _LazyConv(LazyModuleMixin):
    """Takes `in_channels` from its first input."""

    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._leave_open(out_channels, bias, device, dtype)

    def _leave_open(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # type: ignore[misc]

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


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that takes `in_channels` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that takes `in_channels` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that takes `in_channels` from its first input."""

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConv):
    def __init__(
        self: Any,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (stride, padding, output_padding, groups, False, dilation, padding_mode)
        super(_LazyConv, self).__init__(0, 0, kernel_size, *options)
        self._leave_open(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d
