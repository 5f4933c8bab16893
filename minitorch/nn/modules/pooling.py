"""Pooling layers. Source: https://pytorch.org/docs/stable/nn.html#pooling-layers"""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from minitorch import Tensor
from minitorch.nn import functional as F
from minitorch.nn.modules.layer import Applied, Layer, layer
from minitorch.nn.modules.utils import _ntuple, _single


@layer
class _MaxPoolNd(Layer, shown="kernel_size stride padding dilation ceil_mode"):
    """(N, C, *spatial) or (C, *spatial) → the same, size ⌊(size + 2 padding − dilation (kernel − 1) − 1) / stride⌋ + 1

    or, with `ceil_mode`, ⌈ ⌉; `stride` is by default the kernel's size. With `return_indices` returns the int64 indices
    in the flattened plane, too. Raises RuntimeError for another number of dimensions or a padding over half the kernel.
    """

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def __post_init__(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.n}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool1d(_MaxPoolNd, n=1):
    """The largest element of each window of (N, C, L)."""


class MaxPool2d(_MaxPoolNd, n=2):
    """The largest element of each window of (N, C, H, W)."""


class MaxPool3d(_MaxPoolNd, n=3):
    """The largest element of each window of (N, C, D, H, W)."""


@layer
class _MaxUnpoolNd(Layer):
    """Elements and int64 indices of the pool, (N, C, *spatial) or (C, *spatial) → (N, C, *output_size).

    By default of size (size − 1) stride − 2 padding + kernel. Raises RuntimeError for indices of another shape or dtype
    or out of range, ValueError for an `output_size` that the pool doesn't map to the input's.
    """

    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    def __post_init__(self) -> None:
        each = _ntuple(self.n)
        self.stride = each(self.kernel_size if self.stride is None else self.stride)
        self.kernel_size, self.padding = each(self.kernel_size), each(self.padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpool = getattr(F, f"max_unpool{self.n}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, n=1):
    """Puts the elements that MaxPool1d took back to where they were, among zeros."""


class MaxUnpool2d(_MaxUnpoolNd, n=2):
    """Puts the elements that MaxPool2d took back to where they were, among zeros."""


class MaxUnpool3d(_MaxUnpoolNd, n=3):
    """Puts the elements that MaxPool3d took back to where they were, among zeros."""


@layer
class _AvgPoolNd(Applied, shown="kernel_size stride padding"):
    """(N, C, *spatial) or (C, *spatial) → the same with size ⌊(size + 2 padding − kernel) / stride⌋ + 1, or ⌈ ⌉ with
    `ceil_mode`; `stride` is by default the kernel's size. Padding counts as zeros, unless `count_include_pad` is False.
    Raises RuntimeError for another number of dimensions or a padding over half the kernel.
    """

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def __post_init__(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


@layer
class _DividedAvgPoolNd(_AvgPoolNd):
    """`divisor_override` divides the sums instead of the windows' size."""

    divisor_override: int | None = None


class AvgPool1d(_AvgPoolNd, function="avg_pool1d"):
    """The mean of each window of (N, C, L)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kernel_size, self.stride, self.padding = map(_single, (self.kernel_size, self.stride, self.padding))


class AvgPool2d(_DividedAvgPoolNd, function="avg_pool2d"):
    """The mean of each window of (N, C, H, W)."""


class AvgPool3d(_DividedAvgPoolNd, function="avg_pool3d"):
    """The mean of each window of (N, C, D, H, W)."""


@layer
class _AdaptiveAvgPoolNd(Applied):
    """(N, C, *spatial) or (C, *spatial) → (N, C, *output_size), of which None keeps a size. The windows cover the input
    evenly: i of o in a size s goes from ⌊i s / o⌋ to ⌈(i + 1) s / o⌉. Raises RuntimeError for other dimensions.
    """

    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool1d"):
    """The means of `output_size` windows of (N, C, L)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool2d"):
    """The means of `output_size` windows of (N, C, H, W)."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool3d"):
    """The means of `output_size` windows of (N, C, D, H, W)."""


@layer
class _AdaptiveMaxPoolNd(Applied, shown="output_size"):
    """(N, C, *spatial) or (C, *spatial) → (N, C, *output_size), of which None keeps a size. The windows cover the input
    evenly: i of o in a size s goes from ⌊i s / o⌋ to ⌈(i + 1) s / o⌉. With `return_indices` returns the int64 indices
    in the flattened plane, too. Raises RuntimeError for other dimensions.
    """

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function="adaptive_max_pool1d"):
    """The largest elements of `output_size` windows of (N, C, L)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function="adaptive_max_pool2d"):
    """The largest elements of `output_size` windows of (N, C, H, W)."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function="adaptive_max_pool3d"):
    """The largest elements of `output_size` windows of (N, C, D, H, W)."""


@layer
class _LPPoolNd(Layer):
    """(Σ xᵖ)^(1/p) with p = `norm_type`: (N, C, *spatial) or (C, *spatial) → the same with size
    ⌊(size − kernel) / stride⌋ + 1, or ⌈ ⌉ with `ceil_mode`; `stride` is by default the kernel's size.
    """

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self.n}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd, n=1):
    """The p-norm of each window of (N, C, L)."""


class LPPool2d(_LPPoolNd, n=2):
    """The p-norm of each window of (N, C, H, W)."""


class LPPool3d(_LPPoolNd, n=3):
    """The p-norm of each window of (N, C, D, H, W)."""


@layer
class _FractionalMaxPoolNd(Layer, shown=""):
    """(N, C, *spatial) or (C, *spatial) → (N, C, *output_size), or of the input's size times `output_ratio`. With
    `return_indices` returns the int64 indices in the flattened plane, too. Raises ValueError for both or neither of
    size and ratio, or a ratio outside (0, 1). Graham 2014, https://arxiv.org/abs/1412.6071
    """

    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: InitVar[Tensor | None] = None

    def __post_init__(self, _random_samples: Tensor | None) -> None:
        self.register_buffer("_random_samples", _random_samples)
        size, ratio, each = self.output_size, self.output_ratio, _ntuple(self.n)
        self.kernel_size = each(self.kernel_size)
        self.output_size = None if size is None else each(size)
        self.output_ratio = None if ratio is None else each(ratio)
        if size is None and ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if size is not None and ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if ratio is not None and not all(0 < each < 1 for each in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.n}d")
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd, n=2):
    """The largest elements of windows of (N, C, H, W) that lie at random."""


class FractionalMaxPool3d(_FractionalMaxPoolNd, n=3):
    """The largest elements of windows of (N, C, D, H, W) that lie at random."""
