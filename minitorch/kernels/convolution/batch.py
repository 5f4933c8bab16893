"""The route by batches: images with few output positions share one matrix of windows and one matrix product."""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.convolution.im2col import Ints, add_windows, chunks, matrix_of_windows, padded, windows


def _images_last(xp: Any, images: Array) -> Array:
    """(1, C, *spatial, N): many small images as one, which has one dimension more. The kernel is 1 wide there.

    All its windows make one large matrix, and what is copied or added at once is as long as there are images.
    """
    return xp.ascontiguousarray(images.transpose(*range(1, images.ndim), 0))[None]


def correlate_batch(
    xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The convolution of padded images, without groups."""
    x = padded(xp, x, padding)
    outputs, kernel = weight.shape[0], weight.shape[2:]
    size = windows(xp, x, kernel, stride, dilation).shape[weight.ndim :]
    positions, depth = math.prod(size), math.prod(weight.shape[1:])
    result = xp.empty((len(x), outputs, *size), x.dtype)
    for part in chunks(xp, len(x) if result.size else 0, depth * positions):
        number = len(x[part])
        whole = _images_last(xp, x[part])
        columns = matrix_of_windows(xp, whole, (*kernel, 1), (*size, number), (*stride, 1), (*dilation, 1))
        product = xp.dot(weight.reshape(outputs, depth), columns.reshape(depth, -1)).reshape(outputs, *size, number)
        result[part] = product.transpose(-1, *range(product.ndim - 1))
    return result


def scatter_batch(
    xp: Any, grad: Array, weight: Array, result: Array, stride: Ints, dilation: Ints, groups: int
) -> None:
    """Adds to `result` what each output position gives to the elements that it saw."""
    outputs, output = grad.shape[1], grad.shape[2:]
    depth = math.prod(weight.shape[1:])
    kernels = weight.reshape(outputs, depth).T
    for part in chunks(xp, len(grad) if grad.size else 0, depth * math.prod(output)):
        images = grad[part]
        columns = xp.dot(kernels, _images_last(xp, images).reshape(outputs, -1))
        columns = columns.reshape(1, result.shape[1], *weight.shape[2:], 1, *output, len(images))
        total = xp.zeros((1, *result.shape[1:], len(images)), grad.dtype)
        add_windows(xp, total, columns, (*stride, 1), (*dilation, 1))
        result[part] = total[0].transpose(-1, *range(total.ndim - 2))


def outer_batch(xp: Any, grad: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The gradient of the weight."""
    outputs, size = grad.shape[1], grad.shape[2:]
    depth = x.shape[1] * math.prod(kernel)
    result = xp.zeros((outputs, depth), grad.dtype)
    for part in chunks(xp, len(grad) if grad.size else 0, depth * math.prod(size)):
        grads = grad[part]
        whole = _images_last(xp, x[part])
        columns = matrix_of_windows(xp, whole, (*kernel, 1), (*size, len(grads)), (*stride, 1), (*dilation, 1))
        result += xp.dot(_images_last(xp, grads).reshape(outputs, -1), columns.reshape(depth, -1).T)
    return result.reshape(outputs, x.shape[1], *kernel)
