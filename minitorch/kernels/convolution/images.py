"""The route by images: for each image, or group of it, the matrix of windows and a matrix product of its own."""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.convolution.im2col import Ints, add_windows, chunks, matrix_of_windows, padded, windows


def correlate_images(
    xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The convolution of padded images."""
    x = padded(xp, x, padding)
    count, outputs, kernel = len(x), weight.shape[0], weight.shape[2:]
    size = windows(xp, x, kernel, stride, dilation).shape[weight.ndim :]
    positions, depth = math.prod(size), math.prod(weight.shape[1:])
    result = xp.empty((count, outputs, *size), x.dtype)
    kernels = weight.reshape(groups, outputs // groups, depth)
    for part in chunks(xp, count if result.size else 0, groups * depth * positions):
        images = x[part]
        columns = matrix_of_windows(xp, images, kernel, size, stride, dilation)
        columns = columns.reshape(len(images), groups, depth, positions)
        out = result[part].reshape(len(images), groups, outputs // groups, positions)
        xp.matmul(kernels, columns, out=out)
    return result


def scatter_images(
    xp: Any, grad: Array, weight: Array, result: Array, stride: Ints, dilation: Ints, groups: int
) -> None:
    """Adds to `result` what each output position gives to the elements that it saw."""
    outputs, output = grad.shape[1], grad.shape[2:]
    positions, depth = math.prod(output), math.prod(weight.shape[1:])
    kernels = weight.reshape(groups, outputs // groups, depth).swapaxes(1, 2)
    for part in chunks(xp, len(grad) if grad.size else 0, groups * depth * positions):
        images = grad[part]
        columns = xp.matmul(kernels, images.reshape(len(images), groups, outputs // groups, positions))
        columns = columns.reshape(len(images), result.shape[1], *weight.shape[2:], *output)
        add_windows(xp, result[part], columns, stride, dilation)


def outer_images(xp: Any, grad: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The gradient of the weight."""
    outputs, size = grad.shape[1], grad.shape[2:]
    positions, depth = math.prod(size), x.shape[1] // groups * math.prod(kernel)
    result = xp.zeros((groups, outputs // groups, depth), grad.dtype)
    for part in chunks(xp, len(grad) if grad.size else 0, groups * depth * positions):
        grads = grad[part]
        columns = matrix_of_windows(xp, x[part], kernel, size, stride, dilation)
        columns = columns.reshape(len(grads), groups, depth, positions).swapaxes(2, 3)
        result += xp.matmul(grads.reshape(len(grads), groups, outputs // groups, positions), columns).sum(0)
    return result.reshape(outputs, x.shape[1] // groups, *kernel)
