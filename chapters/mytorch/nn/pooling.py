"""Pooling: each window of a plane becomes one number, its largest or its mean."""

# 11 · Convolution
from __future__ import annotations

from typing import Any

from .. import Tensor, stack
from ..checks import refuse
from ..strides import count_of
from .convolution import Pair, Windows, im2col, pair
from .module import Module


def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Tensor:
    """Return the maximum of each window; ties go to the first element. (…, H, W) → (…, rows, columns)."""
    windows = windows_on(input, kernel_size, stride, padding, dilation)
    return seen(input, windows, float("-inf")).max(-2)[0].reshape(pooled(input, windows))


def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    """Return the mean of each window: (…, H, W) → (…, rows, columns). Padding counts as zeros."""
    windows = windows_on(input, kernel_size, stride, padding, 1)
    return seen(input, windows, 0.0).mean(-2).reshape(pooled(input, windows))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return the means of `output_size` windows, which cover H and W as evenly as whole pixels allow."""
    down, across = (bounds(size, count) for size, count in zip(input.shape[-2:], pair(output_size), strict=True))
    rows = [stack([input[..., top:end, left:right].mean((-2, -1)) for left, right in across], -1) for top, end in down]
    return stack(rows, -2)


def bounds(size: int, count: int) -> list[Pair]:
    """Return the (start, end) of each of `count` windows that together cover a line of `size` positions."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def seen(input: Tensor, windows: Windows, fill: float) -> Tensor:
    """What each window of each plane sees: (…, H, W) → (planes, kh · kw, windows)."""
    return im2col(input.reshape(count_of(input.shape[:-2]), 1, *input.shape[-2:]), windows, fill)


def pooled(input: Tensor, windows: Windows) -> tuple[int, ...]:
    """Return the result's shape."""
    return *input.shape[:-2], *windows.counts(input.shape[-2:])


def windows_on(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Windows:
    """The windows of a pool."""
    refuse(input.ndim not in (3, 4), "non-empty 3D or 4D (batch mode) tensor expected for input")
    kernel = pair(kernel_size)
    windows = Windows(kernel, kernel if stride is None else pair(stride), pair(padding), pair(dilation))
    for pad, k, d in zip(windows.padding, kernel, windows.dilation, strict=True):
        found = f"pad={pad}, kernel_size={k} and dilation={d}"
        refuse(pad > k // 2, f"pad should be at most half of effective kernel size, but got {found}")
    *_, planes, high, wide = input.shape
    rows, columns = windows.counts((high, wide))
    sizes = f"({planes}x{high}x{wide}). Calculated output size: ({planes}x{rows}x{columns})"
    refuse(min(rows, columns) < 1, f"Given input size: {sizes}. Output size is too small")
    return windows


class MaxPool2d(Module):
    """The largest number of each window of (N, C, H, W)."""

    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    ceil_mode = False

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation

    def forward(self, x: Tensor) -> Tensor:
        return max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)


class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W)."""

    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        return avg_pool2d(x, self.kernel_size, self.stride, self.padding)


class AdaptiveAvgPool2d(Module):
    """The means of `output_size` windows of (N, C, H, W)."""

    _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return adaptive_avg_pool2d(x, self.output_size)
