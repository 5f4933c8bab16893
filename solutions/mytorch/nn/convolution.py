"""Convolutions, as matrix products: the windows that a kernel sees become the columns of a matrix, and back."""

# 11 · Convolution
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..autograd.recording import derivative
from ..creation import empty
from ..dispatch import operation
from ..strides import count_of
from ..tensor import Tensor
from .init import uniform_
from .module import Module
from .parameter import Parameter

Pair = tuple[int, int]


def pair(value: Any, name: str = "kernel_size") -> Pair:
    """The same number for both dimensions of an image, or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(values) != 2:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of 2 values to match the convolution dimensions, "
            f"but got {name}={list(values)}"
        )
    return values


class Windows(NamedTuple):
    """How a kernel slides over an image: its size, its step, the zeros around the image, the gaps in the kernel."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair

    def counts(self, size: tuple[int, ...]) -> Pair:
        """How many windows there are along each dimension of an image of this size (H, W).

        A kernel of k places with a dilation of d reaches over d·(k - 1) + 1 places of the image, which
        padding has made 2p longer. The first window starts at its first place, the next ones a stride
        further, as long as they fit in whole. A number below 1 means that none does.
        """
        high, wide = (
            (s + 2 * p - d * (k - 1) - 1) // t + 1
            for s, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        )
        return high, wide

    def seen(self, place: tuple[int, ...], counts: Pair) -> tuple[slice, slice]:
        """What the kernel's place (i, j) sees as the windows slide: a slice of the rows, one of the columns.

        Both count in the padded image. In the first window the place sees row i·d, and in each next one the
        row a stride further, as many rows as there are windows. The same goes for the columns.
        """
        rows, columns = (
            slice(i * d, i * d + t * (count - 1) + 1, t)
            for i, d, t, count in zip(place, self.dilation, self.stride, counts, strict=True)
        )
        return rows, columns


def pad(images: Any, padding: Pair, value: float = 0.0) -> Any:
    """Arrays of shape (N, C, H, W) with a margin of `padding` rows and columns on all sides."""
    (high, wide), (*lead, rows, columns) = padding, images.shape
    result = np.full_like(images, value, shape=(*lead, rows + 2 * high, columns + 2 * wide))
    result[..., high : high + rows, wide : wide + columns] = images
    return result


@operation
def im2col(images: Any, windows: Windows, fill: float = 0.0) -> Any:
    """What each window sees, as a column: (N, C, H, W) → (N, C · kh · kw, L), for L windows, row by row.

    A column lists channel after channel, and of each channel the kernel's places row by row. `fill` is
    what lies in the padding. Here `images` and the result are arrays; `pad(images, padding, fill)` adds
    the padding, `np.empty_like(images, shape=…)` makes room for the result, with the images' type and on
    their device.
    """
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.empty_like(images, shape=(count, channels, *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, :, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


@operation
def col2im(columns: Any, windows: Windows, size: tuple[int, ...]) -> Any:
    """The columns of `im2col` summed where they came from: (N, C · kh · kw, L) → (N, C, H, W), of `size`.

    A pixel that several windows saw gets the sum of what they bring; one that none saw gets 0. What falls
    into the padding is dropped. `columns` and the result are arrays; `np.zeros_like(columns, shape=…)`
    makes room.
    """
    (count, rows), counts, (high, wide) = columns.shape[:2], windows.counts(size), windows.padding
    channels = rows // count_of(windows.kernel)
    columns = columns.reshape(count, channels, *windows.kernel, *counts)
    padded = np.zeros_like(columns, shape=(count, channels, size[0] + 2 * high, size[1] + 2 * wide))
    for i, j in np.ndindex(*windows.kernel):
        down, across = windows.seen((i, j), counts)
        padded[:, :, down, across] += columns[:, :, i, j]
    return padded[:, :, high : high + size[0], wide : wide + size[1]]


derivative("im2col", images=lambda g, images_shape, windows: col2im(g, windows, images_shape[2:]))
derivative("col2im", columns=lambda g, windows: im2col(g, windows))


def convolve(images: Tensor, weight: Tensor, windows: Windows, groups: int) -> Tensor:
    """The kernels times what they see: (N, C, H, W) and (O, C / groups, kh, kw) → (N, O, rows, columns).

    The first C / groups channels meet the first O / groups kernels, the next ones the next.
    """
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    return (kernels @ columns).reshape(count, outputs, *counts)


def convolve_back(
    grad: Tensor,
    weight: Tensor,
    windows: Windows,
    groups: int,
    size: tuple[int, ...],
) -> Tensor:
    """The gradient of `convolve` by its images: (N, O, rows, columns) → (N, C, H, W), of `size`.

    Each number of `grad` adds its kernel, times the number, to what the kernel saw.
    """
    count, outputs, *counts = grad.shape
    depth = weight[0].numel()
    kernels = weight.reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, groups, outputs // groups, count_of(tuple(counts)))
    return col2im(columns.reshape(count, groups * depth, count_of(tuple(counts))), windows, size)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """out[n, o, y, x] = bias[o] + Σ weight[o, c, i, j] · input[n, c, v, w].

    The sum is over c, i and j, with v = t·y + d·i - p and w = t·x + d·j - p, for a
    stride t, a dilation d and a padding p. Images are (N, C, H, W), or (C, H, W) for
    a single one; the weight is (O, C / groups, kh, kw). The kernel isn't flipped:
    mathematicians call this a cross-correlation.

    Raises:
        RuntimeError: the shapes don't fit together, or the kernel is larger than the image.
    """
    images = as_batch("conv2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    check_channels(images, weight, groups, weight.shape[1] * groups, f"groups={groups}")
    check_fits(images, windows)
    result = plus_bias(convolve(images, weight, windows, groups), bias)
    return result if input.ndim == 4 else result.squeeze(0)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The way back through a convolution with this weight: (N, O, h, w) and (O, C / groups, kh, kw) → (N, C, H, W).

    H = t·(h - 1) - 2p + d·(kh - 1) + 1 + output_padding: of the sizes that a convolution maps to h, the
    smallest, or with `output_padding` a larger one.

    Raises:
        RuntimeError: the shapes don't fit together, or the output padding isn't smaller than the stride.
    """
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    if any(e >= t for e, t in zip(extra, windows.stride, strict=True)):
        shown = {"output_padding": extra, "stride": windows.stride, "dilation": windows.dilation}
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            + " ".join(f"{name}_height: {high} {name}_width: {wide}" for name, (high, wide) in shown.items())
        )
    size = tuple(
        t * (s - 1) - 2 * p + d * (k - 1) + 1 + e
        for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows, strict=True)
    )
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


def windows_of(kernel: Any, stride: Any, padding: Any, dilation: Any) -> Windows:
    """The windows of a convolution, from what its user may have given as one number.

    Raises:
        RuntimeError: a stride or dilation below 1, or a padding below 0.
    """
    windows = Windows(pair(kernel), pair(stride, "stride"), pair(padding, "padding"), pair(dilation, "dilation"))
    if min(windows.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(windows.stride) < 1:
        raise RuntimeError("non-positive stride is not supported")
    if min(windows.dilation) < 1:
        raise RuntimeError("dilation should be greater than zero")
    return windows


def as_batch(name: str, images: Tensor) -> Tensor:
    """Images with a batch dimension."""
    if images.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D (unbatched) or 4D (batched) input to {name}, but got input of size: {list(images.shape)}"
        )
    return images if images.ndim == 4 else images.unsqueeze(0)


def check_channels(images: Tensor, weight: Tensor, groups: int, channels: int, kind: str) -> None:
    """Refuse a weight that can't be shared out among the groups, or images with other than so many channels."""
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(weight.shape)}] instead"
        )
    if images.shape[1] != channels:
        raise RuntimeError(
            f"Given {kind}, weight of size {list(weight.shape)}, expected input{list(images.shape)} to have {channels} "
            f"channels, but got {images.shape[1]} channels instead"
        )


def check_fits(images: Tensor, windows: Windows) -> None:
    """Refuse a kernel that reaches beyond the padded image."""
    if min(windows.counts(images.shape[2:])) < 1:
        padded = [s + 2 * p for s, p in zip(images.shape[2:], windows.padding, strict=True)]
        reach = [d * (k - 1) + 1 for k, d in zip(windows.kernel, windows.dilation, strict=True)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({padded[0]} x {padded[1]}). "
            f"Kernel size: ({reach[0]} x {reach[1]}). Kernel size can't be greater than actual input size"
        )


def plus_bias(images: Tensor, bias: Tensor | None) -> Tensor:
    """Images with one number added to each channel."""
    return images if bias is None else images + bias.reshape(-1, 1, 1)


class _Convolution(Module):
    """What both layers have: a weight, a bias, and how the kernel slides."""

    def __init__(
        self, channels: Pair, shape: Pair, geometry: tuple[Any, ...], groups: int, bias: bool, **where: Any
    ) -> None:
        """`shape` is that of the weight, but for groups and kernel; the names of `geometry` are below."""
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, number in zip(("in_channels", "out_channels"), channels, strict=True):
            if number % groups:
                raise ValueError(f"{name} must be divisible by groups")
        self.in_channels, self.out_channels = channels
        self.kernel_size, self.stride, self.padding, self.dilation, self.output_padding = (
            pair(value) for value in geometry
        )
        self.groups = groups
        self.weight = Parameter(empty(shape[0], shape[1] // groups, *self.kernel_size, **where))
        self.bias: Parameter | None
        self.register_parameter("bias", Parameter(empty(self.out_channels, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in ±1/√n for n weights of a kernel."""
        bound = 1 / math.sqrt(self.weight[0].numel())
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """What differs from the defaults."""
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": (0, 0), "dilation": (1, 1), "output_padding": (0, 0), "groups": 1}
        for name, value in usual.items():
            if getattr(self, name) != value:
                shown += f", {name}={getattr(self, name)}"
        return shown if self.bias is not None else f"{shown}, bias=False"


class Conv2d(_Convolution):
    """`out_channels` kernels, each of which sees all channels of its group: (N, in, H, W) → (N, out, rows, columns)."""

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        channels, geometry = (in_channels, out_channels), (kernel_size, stride, padding, dilation, 0)
        super().__init__(channels, channels[::-1], geometry, groups, bias, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, H, W) → (N, out, rows, columns)."""
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose2d(_Convolution):
    """The way back through a convolution from `out_channels` to `in_channels`: it makes images larger."""

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        channels, geometry = (in_channels, out_channels), (kernel_size, stride, padding, dilation, output_padding)
        super().__init__(channels, channels, geometry, groups, bias, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """(N, in, h, w) → (N, out, H, W)."""
        geometry = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return conv_transpose2d(x, self.weight, self.bias, *geometry)
