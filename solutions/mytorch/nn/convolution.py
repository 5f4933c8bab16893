"""Convolutions, as matrix products: the windows that a kernel sees become the columns of a matrix, and back."""

# 11 · Convolution
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import Tensor, empty
from ..autograd.recording import derivative
from ..checks import refuse
from ..dispatch import composite, operation
from ..strides import count_of
from .init import draw
from .module import Module
from .parameter import Parameter
from .words import unusual

Pair = tuple[int, int]


def pair(value: Any, name: str = "kernel_size") -> Pair:
    """The same number for both dimensions of an image, or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    wanted = "a single integer value or a list of 2 values to match the convolution dimensions"
    refuse(len(values) != 2, f"expected {name} to be {wanted}, but got {name}={list(values)}")
    return values


class Windows(NamedTuple):
    """How a kernel slides over an image: its size, its step, the zeros around the image, the gaps in the kernel."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair

    def counts(self, size: tuple[int, ...]) -> Pair:
        """Return the number of windows along each dimension of an image of this size (H, W)."""
        high, wide = (
            (s + 2 * p - d * (k - 1) - 1) // t + 1
            for s, k, t, p, d in zip(size, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        )
        return high, wide

    def seen(self, place: tuple[int, ...], counts: Pair) -> tuple[slice, slice]:
        """Return the rows and the columns that the tap (i, j) of the kernel sees in all windows, as two slices."""
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
    """Copy what each window sees into a column: (N, C, H, W) → (N, C · kh · kw, L) for L windows, row by row."""
    (count, channels), counts = images.shape[:2], windows.counts(images.shape[2:])
    padded = pad(images, windows.padding, fill)
    columns = np.empty_like(images, shape=(count, channels, *windows.kernel, *counts))
    for i, j in np.ndindex(*windows.kernel):
        rows, across = windows.seen((i, j), counts)
        columns[:, :, i, j] = padded[:, :, rows, across]
    return columns.reshape(count, channels * count_of(windows.kernel), count_of(counts))


@operation
def col2im(columns: Any, windows: Windows, size: tuple[int, ...]) -> Any:
    """Add the columns of `im2col` back into images of `size` (H, W): (N, C · kh · kw, L) → (N, C, H, W)."""
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
    """Multiply each kernel by what it sees: (N, C, H, W) and (O, C / groups, kh, kw) → (N, O, rows, columns)."""
    count, outputs, counts = len(images), weight.shape[0], windows.counts(images.shape[2:])
    depth = weight[0].numel()
    columns = im2col(images, windows).reshape(count, groups, depth, count_of(counts))
    kernels = weight.reshape(groups, outputs // groups, depth)
    return (kernels @ columns).reshape(count, outputs, *counts)


def convolve_back(grad: Tensor, weight: Tensor, windows: Windows, groups: int, size: tuple[int, ...]) -> Tensor:
    """Return the gradient of `convolve` for its images of `size` (H, W): (N, O, rows, columns) → (N, C, H, W)."""
    count, outputs, *counts = grad.shape
    depth = weight[0].numel()
    kernels = weight.reshape(groups, outputs // groups, depth)
    columns = kernels.mT @ grad.reshape(count, groups, outputs // groups, count_of(tuple(counts)))
    return col2im(columns.reshape(count, groups * depth, count_of(tuple(counts))), windows, size)


@composite
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """out[n, o, y, x] = bias[o] + Σ weight[o, c, i, j] · input[n, c, t·y + d·i - p, t·x + d·j - p], over c, i and j.

    The stride is t, the dilation d, the padding p; the kernel isn't flipped: mathematicians call this a correlation.
    """
    images = as_batch("conv2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    check_channels(images, weight, groups, weight.shape[1] * groups, f"groups={groups}")
    check_fits(images, windows)
    result = plus_bias(convolve(images, weight, windows, groups), bias)
    return result if input.ndim == 4 else result.squeeze(0)


@composite
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
    """Return a convolution's gradient for its input: (N, O, h, w) and (O, C / groups, kh, kw) → (N, C, H, W)."""
    images = as_batch("conv_transpose2d", input)
    windows = windows_of(weight.shape[2:], stride, padding, dilation)
    extra = pair(output_padding, "output_padding")
    check_channels(images, weight, groups, weight.shape[0], "transposed=1")
    check_output_padding(extra, windows)
    size = tuple(
        t * (s - 1) - 2 * p + d * (k - 1) + 1 + e
        for s, e, k, t, p, d in zip(images.shape[2:], extra, *windows, strict=True)
    )
    result = plus_bias(convolve_back(images, weight, windows, groups, size), bias)
    return result if input.ndim == 4 else result.squeeze(0)


def check_output_padding(extra: Pair, windows: Windows) -> None:
    """Refuse to add as much as a further window would need."""
    if any(e >= t for e, t in zip(extra, windows.stride, strict=True)):
        shown = {"output_padding": extra, "stride": windows.stride, "dilation": windows.dilation}
        found = " ".join(f"{name}_height: {high} {name}_width: {wide}" for name, (high, wide) in shown.items())
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {found}")


def windows_of(kernel: Any, stride: Any, padding: Any, dilation: Any) -> Windows:
    """The windows of a convolution, from what its user may have given as one number."""
    windows = Windows(pair(kernel), pair(stride, "stride"), pair(padding, "padding"), pair(dilation, "dilation"))
    refuse(min(windows.padding) < 0, "negative padding is not supported")
    refuse(min(windows.stride) < 1, "non-positive stride is not supported")
    refuse(min(windows.dilation) < 1, "dilation should be greater than zero")
    return windows


def as_batch(name: str, images: Tensor) -> Tensor:
    """Images with a batch dimension."""
    found = f"but got input of size: {list(images.shape)}"
    refuse(images.ndim not in (3, 4), f"Expected 3D (unbatched) or 4D (batched) input to {name}, {found}")
    return images if images.ndim == 4 else images.unsqueeze(0)


def check_channels(images: Tensor, weight: Tensor, groups: int, channels: int, kind: str) -> None:
    """Refuse a weight that can't be shared out among the groups, or images with other than so many channels."""
    size, found = list(weight.shape), list(images.shape)
    wanted = f"expected weight to be divisible by {groups} at dimension 0, but got weight of size [{size}] instead"
    refuse(size[0] % groups, f"Given groups={groups}, {wanted}")
    wanted = f"expected input{found} to have {channels} channels, but got {found[1]} channels instead"
    refuse(found[1] != channels, f"Given {kind}, weight of size {size}, {wanted}")


def check_fits(images: Tensor, windows: Windows) -> None:
    """Refuse a kernel that reaches beyond the padded image."""
    if min(windows.counts(images.shape[2:])) < 1:
        padded = [s + 2 * p for s, p in zip(images.shape[2:], windows.padding, strict=True)]
        reach = [d * (k - 1) + 1 for k, d in zip(windows.kernel, windows.dilation, strict=True)]
        sizes = f"({padded[0]} x {padded[1]}). Kernel size: ({reach[0]} x {reach[1]})."
        rule = "Kernel size can't be greater than actual input size"
        raise RuntimeError(f"Calculated padded input size per channel: {sizes} {rule}")


def plus_bias(images: Tensor, bias: Tensor | None) -> Tensor:
    """Images with one number added to each channel."""
    return images if bias is None else images + bias.reshape(-1, 1, 1)


class _Convolution(Module):
    """What both layers have: a weight, a bias, and how the kernel slides."""

    transposed = False

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
        **where: Any,
    ) -> None:
        super().__init__()
        refuse(groups <= 0, "groups must be a positive integer", ValueError)
        for name, number in {"in_channels": in_channels, "out_channels": out_channels}.items():
            refuse(number % groups, f"{name} must be divisible by groups", ValueError)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding, self.dilation = map(pair, (kernel_size, stride, padding, dilation))
        self.output_padding = (0, 0)
        rows, columns = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(empty(rows, columns // groups, *self.kernel_size, **where))
        self.register_parameter("bias", Parameter(empty(self.out_channels, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in ±1/√n for n weights of a kernel."""
        draw(self.parameters(), self.weight[0].numel())

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": (0, 0), "dilation": (1, 1), "output_padding": (0, 0), "groups": 1}
        return shown + unusual(self, usual) + (", bias=False" if self.bias is None else "")


class Conv2d(_Convolution):
    """`out_channels` kernels, each of which sees all channels of its group: (N, in, H, W) → (N, out, rows, columns)."""

    def forward(self, x: Tensor) -> Tensor:
        return conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose2d(_Convolution):
    """The backward pass of a convolution from `out_channels` to `in_channels`: it makes images larger."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, **options)
        self.output_padding = pair(output_padding)

    def forward(self, x: Tensor) -> Tensor:
        geometry = self.stride, self.padding, self.output_padding, self.groups, self.dilation
        return conv_transpose2d(x, self.weight, self.bias, *geometry)
