"""The kernels of convolutions. `routes` chooses by their sizes among several ways to matrix products, a file each.

`correlate` is the convolution, `scatter` and `outer` are its adjoints in the array and in the weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.convolution.batch import correlate_batch, outer_batch, scatter_batch
from minitorch.kernels.convolution.channels import correlate_channels, outer_channels, scatter_channels
from minitorch.kernels.convolution.im2col import Ints, covered, windows, without
from minitorch.kernels.convolution.images import correlate_images, outer_images, scatter_images
from minitorch.kernels.convolution.lines import correlate_lines
from minitorch.kernels.convolution.routes import Sizes, adjoint_route, is_convolution, route
from minitorch.kernels.convolution.rows import correlate_rows

CORRELATE: dict[str, Callable[..., Array]] = {
    "images": correlate_images,
    "batch": correlate_batch,
    "rows": correlate_rows,
    "lines": correlate_lines,
    "channels": correlate_channels,
}
SCATTER: dict[str, Callable[..., None]] = {
    "images": scatter_images,
    "batch": scatter_batch,
    "channels": scatter_channels,
}
OUTER: dict[str, Callable[..., Array]] = {"images": outer_images, "batch": outer_batch, "channels": outer_channels}


def correlate(xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    """The convolution of (N, C, *spatial) with a weight (O, C / groups, *kernel)."""
    kernel = weight.shape[2:]
    sizes = zip(x.shape[2:], padding, dilation, kernel, stride, strict=True)
    output = tuple((s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in sizes)
    chosen = route(
        Sizes(len(x), x.shape[1], weight.shape[0], groups, kernel, output, stride, dilation), bool(xp.is_host)
    )
    return CORRELATE[chosen](xp, x, weight, stride, padding, dilation, groups)


def scatter(
    xp: Any, grad: Array, weight: Array, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The adjoint of `correlate` in the array, without its padding: (N, C, *size).

    Every output position adds its kernel to what it saw.
    """
    n, kernel, output = weight.ndim - 2, weight.shape[2:], grad.shape[2:]
    whole = tuple(s + 2 * p for s, p in zip(size, padding, strict=True))
    around = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True))
    channels, is_host = weight.shape[1] * groups, bool(xp.is_host)
    sizes = Sizes(len(grad), channels, weight.shape[0], groups, kernel, output, stride, dilation)
    if is_convolution(sizes, is_host, size, whole, covered(output, kernel, stride, dilation), around):
        turned = xp.flip(weight, tuple(range(2, 2 + n))).swapaxes(0, 1)
        return correlate(xp, grad, turned, stride, around, dilation, 1)
    result = xp.zeros((len(grad), channels, *whole), grad.dtype)
    chosen = adjoint_route(sizes, is_host) if is_host else "images"
    SCATTER[chosen](xp, grad, weight, result, stride, dilation, groups)
    return without(xp, result, size, padding)


def outer(xp: Any, grad: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The adjoint of `correlate` in the weight: what was seen, weighted by the gradient of what was made of it."""
    sizes = Sizes(len(grad), x.shape[1], grad.shape[1], groups, kernel, grad.shape[2:], stride, dilation)
    return OUTER[adjoint_route(sizes, bool(xp.is_host))](xp, grad, x, kernel, stride, dilation, groups)
