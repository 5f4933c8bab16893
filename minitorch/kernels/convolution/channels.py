"""The route by channels, for convolutions that don't mix them: each channel is a group.

What one place of the kernel sees at all positions is the flattened plane from some element on, if positions are counted
in the plane's own rows. Those that the output doesn't have, at the ends of the rows and within strides, are skipped in
it, and zero in its gradient.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.convolution.im2col import Ints, padded, windows


def _shifts(xp: Any, plane: Ints, kernel: Ints, dilation: Ints) -> list[tuple[Ints, int]]:
    """The places of the kernel, and from which element of the plane on they see it."""
    steps = [math.prod(plane[d + 1 :]) * dilation[d] for d in range(len(plane))]
    return [(offset, sum(map(operator.mul, offset, steps))) for offset in xp.ndindex(*kernel)]


def _positions(size: Ints, stride: Ints) -> tuple[Any, ...]:
    return (..., *(slice(0, t * (o - 1) + 1, t) for o, t in zip(size, stride, strict=True)))


def correlate_channels(
    xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The convolution of each channel with kernels of its own."""
    x = padded(xp, x, padding)
    count, channels, *plane = x.shape
    shifts = _shifts(xp, plane, weight.shape[2:], dilation)
    length = math.prod(plane) - shifts[-1][1]
    kernels = weight.reshape(channels, weight.shape[0] // channels, 1, *weight.shape[2:])
    result = xp.zeros((count, *kernels.shape[:2], math.prod(plane)), x.dtype)
    product = xp.empty((*kernels.shape[:2], length), x.dtype)
    for image, into in zip(x.reshape(count, channels, 1, math.prod(plane)), result[..., :length], strict=True):
        for offset, first in shifts:
            into += xp.multiply(image[..., first : first + length], kernels[(..., *offset)], out=product)
    size = windows(xp, x, weight.shape[2:], stride, dilation).shape[weight.ndim :]
    whole = result.reshape(count, weight.shape[0], *plane)
    return xp.ascontiguousarray(whole[_positions(size, stride)])


def _on_plane(xp: Any, grad: Array, channels: int, plane: Ints, stride: Ints) -> Array:
    """A gradient where its positions are in the plane: (N, C, O / C, elements of the plane)."""
    count, outputs, *size = grad.shape
    whole = xp.zeros((count, outputs, *plane), grad.dtype)
    whole[_positions(size, stride)] = grad
    return whole.reshape(count, channels, outputs // channels, math.prod(plane))


def scatter_channels(
    xp: Any, grad: Array, weight: Array, result: Array, stride: Ints, dilation: Ints, groups: int
) -> None:
    """Adds to `result` what each output position gives to the elements that its channel saw."""
    count, channels, *plane = result.shape
    shifts = _shifts(xp, plane, weight.shape[2:], dilation)
    length = math.prod(plane) - shifts[-1][1]
    kernels = weight.reshape(channels, weight.shape[0] // channels, 1, *weight.shape[2:])
    grads = _on_plane(xp, grad, channels, plane, stride)[..., :length]
    product = xp.empty((*kernels.shape[:2], length), grad.dtype)
    for of_image, into in zip(grads, result.reshape(count, channels, math.prod(plane)), strict=True):
        for offset, first in shifts:
            xp.multiply(of_image, kernels[(..., *offset)], out=product)
            into[:, first : first + length] += product[:, 0] if product.shape[1] == 1 else product.sum(1)


def outer_channels(xp: Any, grad: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The gradient of each channel's kernels."""
    count, channels, *plane = x.shape
    shifts = _shifts(xp, plane, kernel, dilation)
    length = math.prod(plane) - shifts[-1][1]
    result = xp.zeros((channels, grad.shape[1] // channels, 1, *kernel), grad.dtype)
    grads = _on_plane(xp, grad, channels, plane, stride)[..., :length]
    for of_image, image in zip(grads, x.reshape(count, channels, math.prod(plane), 1), strict=True):
        for offset, first in shifts:
            result[(..., *offset)] += xp.matmul(of_image, image[:, first : first + length])
    return result.reshape(-1, 1, *kernel)
