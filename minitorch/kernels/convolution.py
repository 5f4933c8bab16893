"""The kernels of convolutions: each finds its own way to matrix products, by shape.

`correlate` is the convolution of padded arrays, `scatter` and `outer` are its adjoints in the array and in the weight.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.kernel import on_gpu, threads

Ints = tuple[int, ...]

WORKSPACE = 1 << 20
"""The elements of the matrix of windows that is made at a time: what a CPU's caches hold."""

GPU_WORKSPACE = 1 << 26
"""The same for a GPU, which wants large products: 256 MiB of float32."""

WIDE = 64
"""From this number of columns on, those of one row in all images, a row's own matrix product is large enough."""

DEEP = 128
"""From this number of a kernel's rows in all channels on, its columns are large enough for products of their own."""

FEW_POSITIONS = 128
"""Below this number of output positions an image's own matrix product is too small: all images share one."""


def windows(xp: Any, array: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """A view (N, C, *kernel, *output) of (N, C, *spatial): what the kernel sees at each output position."""
    each = zip(array.shape[2:], kernel, stride, dilation, strict=True)
    size = [(s - d * (k - 1) - 1) // t + 1 for s, k, t, d in each]
    steps = array.strides[2:]
    inner = [step * d for step, d in zip(steps, dilation, strict=True)]
    outer = [step * t for step, t in zip(steps, stride, strict=True)]
    return xp.lib.stride_tricks.as_strided(
        array, (*array.shape[:2], *kernel, *size), (*array.strides[:2], *inner, *outer)
    )


def padded(xp: Any, array: Array, padding: Ints) -> Array:
    """The array with zeros before and after each spatial dimension."""
    if not any(padding):
        return array
    result = xp.zeros(
        (*array.shape[:2], *(s + 2 * p for s, p in zip(array.shape[2:], padding, strict=True))), array.dtype
    )
    result[(..., *(slice(p, p + s) for s, p in zip(array.shape[2:], padding, strict=True)))] = array
    return result


def _geometry(*spatial: Ints) -> Ints | None:
    """The sizes that `windows.cu` gets, which knows three dimensions: those that lack are of one element."""
    n = len(spatial[0])
    return None if n > 3 else tuple(size for each in spatial for size in (*(1,) * (3 - n), *each))


def _by_column(
    columns: Array, array: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints
) -> tuple[int, tuple[Any, ...]] | None:
    """A thread for each element of the columns."""
    sizes = _geometry(array.shape[2:], kernel, size, stride, dilation)
    return None if sizes is None else (threads(columns.size), (columns, array, columns.size, *sizes))


@on_gpu("windows.cu", _by_column)
def take_windows(xp: Any, columns: Array, array: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints) -> None:
    """columns = what the windows at the first positions see, see `matrix_of_windows`."""
    columns[...] = windows(xp, array, kernel, stride, dilation)[(..., *map(slice, size))]


def matrix_of_windows(xp: Any, array: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints) -> Array:
    """What the windows at `size` positions see, (N, C, *kernel, *size).

    A view of the array where it has all that in this order; a copy elsewhere, without gaps.
    """
    seen = windows(xp, array, kernel, stride, dilation)[(..., *map(slice, size))]
    if seen.flags.c_contiguous:
        return seen
    columns = xp.empty(seen.shape, array.dtype)
    take_windows(xp, columns, array, kernel, size, stride, dilation)
    return columns


def _images_last(xp: Any, images: Array) -> Array:
    """(1, C, *spatial, N): many small images as one, which has one dimension more. The kernel is 1 wide there.

    All its windows make one large matrix, and what is copied or added at once is as long as there are images.
    """
    return xp.ascontiguousarray(images.transpose(*range(1, images.ndim), 0))[None]


def _are_small(positions: int, kernel: Ints, groups: int) -> bool:
    """Whether images share a matrix product. Where the kernel is of one element, their own take them as they lie."""
    return positions < FEW_POSITIONS and math.prod(kernel) > 1 and groups == 1


def _by_element(array: Array, columns: Array, stride: Ints, dilation: Ints) -> tuple[int, tuple[Any, ...]] | None:
    """A thread for each element of the array."""
    n = array.ndim - 2
    sizes = _geometry(array.shape[2:], columns.shape[2 : 2 + n], columns.shape[2 + n :], stride, dilation)
    return None if sizes is None else (threads(array.size), (array, columns, array.size, *sizes))


@on_gpu("windows.cu", _by_element)
def add_windows(xp: Any, array: Array, columns: Array, stride: Ints, dilation: Ints) -> None:
    """The adjoint of `windows`: adds columns (N, C, *kernel, *output) to the places in `array` that windows show.

    What no window reaches, at the ends of the array, stays as it is.
    """
    kernel, output = columns.shape[2 : array.ndim], columns.shape[array.ndim :]
    target = windows(
        xp, array[(..., *map(slice, _covered(output, kernel, stride, dilation)))], kernel, stride, dilation
    )
    for offset in xp.ndindex(*kernel):
        # Windows overlap, but those of one offset don't.
        target[(slice(None), slice(None), *offset)] += columns[(slice(None), slice(None), *offset)]


def _chunks(xp: Any, count: int, elements_each: int) -> Iterator[slice]:
    size = max(1, (WORKSPACE if xp.is_host else GPU_WORKSPACE) // max(elements_each, 1))
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def correlate(xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    """The convolution with a weight (O, C / groups, *kernel)."""
    columns = (x.shape[-1] + 2 * padding[-1] - dilation[-1] * (weight.shape[-1] - 1) - 1) // stride[-1] + 1
    if groups == 1 and xp.is_host and _is_wide(len(x) * columns, weight, dilation):
        left_over = dilation[-1] * (weight.shape[-1] - 1)
        deep = math.prod(weight.shape[1:2] + weight.shape[-2:-1]) >= DEEP
        if deep and stride[-1] == 1 and 8 * left_over <= columns:
            return _correlate_lines(xp, x, weight, stride, padding, dilation)
        return _correlate_rows(xp, padded(xp, x, padding), weight, stride, dilation)
    x = padded(xp, x, padding)
    if 1 < groups == x.shape[1] and xp.is_host:
        return _correlate_channels(xp, x, weight, stride, dilation)
    n, kernel = weight.ndim - 2, weight.shape[2:]
    count, outputs, size = len(x), weight.shape[0], windows(xp, x, kernel, stride, dilation).shape[2 + n :]
    positions, depth = math.prod(size), math.prod(weight.shape[1:])
    result = xp.empty((count, outputs, *size), x.dtype)
    kernels = weight.reshape(groups, outputs // groups, depth)
    if not result.size:
        return result
    for part in _chunks(xp, count, groups * depth * positions):
        images = x[part]
        if len(images) > 1 and _are_small(positions, kernel, groups):
            whole, number = _images_last(xp, images), len(images)
            columns = matrix_of_windows(xp, whole, (*kernel, 1), (*size, number), (*stride, 1), (*dilation, 1))
            product = xp.dot(kernels[0], columns.reshape(depth, -1)).reshape(outputs, *size, number)
            result[part] = product.transpose(-1, *range(product.ndim - 1))
        else:
            columns = matrix_of_windows(xp, images, kernel, size, stride, dilation)
            columns = columns.reshape(len(images), groups, depth, positions)
            out = result[part].reshape(len(images), groups, outputs // groups, positions)
            xp.matmul(kernels, columns, out=out)
    return result


def _is_wide(columns: int, weight: Array, dilation: Ints) -> bool:
    return columns >= WIDE and math.prod(weight.shape[2:]) > 1 and dilation[-2:-1] in ((), (1,))


def _correlate_lines(xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """`correlate` without groups and vertical dilation, and with steps of one column: nothing is copied twice.

    All images' rows of one number lie in one line, between zeros. What a column of the kernel sees of them is the line
    from some element on; the products for the positions between the images are computed too, and left out.
    """
    n, outputs, channels = weight.ndim - 2, weight.shape[0], x.shape[1]
    kernel, whole = weight.shape[2:], tuple(s + 2 * p for s, p in zip(x.shape[2:], padding, strict=True))
    size = tuple((s - d * (k - 1) - 1) // t + 1 for s, d, k, t in zip(whole, dilation, kernel, stride, strict=True))
    result = xp.empty((len(x), outputs, *size), x.dtype)
    if not result.size:
        return result
    deep, depth = xp.moveaxis(weight, 1, n), math.prod(kernel[-2:-1]) * channels  # rows, then channels, as in the lines
    kernels = {each: deep[(slice(None), *each[:-1], ..., each[-1])].reshape(outputs, depth) for each in _taps(kernel)}
    inside = tuple(slice(p, p + s) for p, s in zip(padding, x.shape[2:], strict=True))
    for part in _chunks(xp, len(x), x[0].size):
        images = x[part]
        count = len(images)
        lines = xp.zeros((*whole[:-1], channels, count, whole[-1]), x.dtype)
        lines[(*inside[:-1], ..., inside[-1])] = images.transpose(*range(2, 1 + n), 1, 0, 1 + n)
        lines = lines.reshape(*whole[:-1], channels, count * whole[-1])
        length = lines.shape[-1] - dilation[-1] * (kernel[-1] - 1)
        total, product = xp.empty((outputs, length), x.dtype), xp.empty((outputs, length), x.dtype)
        item = total.itemsize
        shape, steps = (count, outputs, size[-1]), (whole[-1] * item, length * item, item)
        seen = xp.lib.stride_tricks.as_strided(total, shape, steps)
        for place in xp.ndindex(*size[:-1]):
            first = tuple(o * t for o, t in zip(place, stride, strict=False))
            for number, (tap, factor) in enumerate(kernels.items()):
                above = tuple(f + o * d for f, o, d in zip(first, tap[:-1], dilation, strict=False))
                rows = () if n == 1 else (slice(first[-1], first[-1] + kernel[-2]),)
                under = lines[(*above, *rows)].reshape(depth, lines.shape[-1])
                start = tap[-1] * dilation[-1]
                xp.matmul(factor, under[:, start : start + length], out=product if number else total)
                if number:
                    xp.add(total, product, out=total)
            result[part][(slice(None), slice(None), *place)] = seen
    return result


def _taps(kernel: Ints) -> Iterator[Ints]:
    """The places in a kernel but for its rows, which are multiplied together."""
    return itertools.product(*map(range, (*kernel[:-2], kernel[-1])))


def _correlate_rows(xp: Any, x: Array, weight: Array, stride: Ints, dilation: Ints) -> Array:
    """`correlate` without groups and vertical dilation: a matrix product for each row of the output, of all images.

    Of the windows only the columns are copied, for a 3 × 3 kernel a third of what it sees. As the rows of the input are
    outermost in the copy, those under the kernel are a matrix as they lie, which overlaps with the next row's.
    """
    n, outputs = weight.ndim - 2, weight.shape[0]
    kernel, one = weight.shape[2:], (1,) * (n - 1)
    size = windows(xp, x, kernel, stride, dilation).shape[2 + n :]
    result = xp.empty((len(x), outputs, *size), x.dtype)
    for part in _chunks(
        xp, len(x), kernel[-1] * x[0].size // 4
    ):  # rows pass through the cache one by one: more may wait
        seen = windows(xp, x[part], (*one, kernel[-1]), (*one, stride[-1]), (*one, dilation[-1]))
        copy = xp.ascontiguousarray(seen.transpose(*range(2 + n, 1 + 2 * n), *range(2, 2 + n), 1, 0, 1 + 2 * n))
        images, depth = seen.shape[0], math.prod(kernel[-2:]) * x.shape[1]
        lines = copy.reshape(*x.shape[2:-1], -1, images * size[-1])
        strides = (*(s * t for s, t in zip(lines.strides, stride[:-1], strict=False)), *lines.strides[-2:])
        total: Any = 0
        for offset in xp.ndindex(*kernel[:-2]):
            start = lines[tuple(slice(o * d, None) for o, d in zip(offset, dilation, strict=False))]
            rows = xp.lib.stride_tricks.as_strided(start, (*size[:-1], depth, lines.shape[-1]), strides)
            kernels = xp.moveaxis(weight[(slice(None), slice(None), *offset)], 1, -1).reshape(outputs, depth)
            total = total + xp.matmul(kernels, rows)
        total = total.reshape(*size[:-1], outputs, images, size[-1])
        result[part] = total.transpose(n, n - 1, *range(n - 1), n + 1)
    return result


# Convolutions that don't mix channels, each of which is a group. What one place of the kernel sees at all positions is
# the flattened plane from some element on, if positions are counted in the plane's own rows; those that the output
# doesn't have, at the ends of the rows and within strides, are left out of it, and zero in its gradient.


def _shifts(xp: Any, plane: Ints, kernel: Ints, dilation: Ints) -> list[tuple[Ints, int]]:
    """The places of the kernel, and from which element of the plane on they see it."""
    steps = [math.prod(plane[d + 1 :]) * dilation[d] for d in range(len(plane))]
    return [(offset, sum(map(operator.mul, offset, steps))) for offset in xp.ndindex(*kernel)]


def _positions(size: Ints, stride: Ints) -> tuple[Any, ...]:
    return (..., *(slice(0, t * (o - 1) + 1, t) for o, t in zip(size, stride, strict=True)))


def _correlate_channels(xp: Any, x: Array, weight: Array, stride: Ints, dilation: Ints) -> Array:
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


def _scatter_channels(xp: Any, grad: Array, weight: Array, result: Array, stride: Ints, dilation: Ints) -> None:
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


def _outer_channels(xp: Any, grad: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    count, channels, *plane = x.shape
    shifts = _shifts(xp, plane, kernel, dilation)
    length = math.prod(plane) - shifts[-1][1]
    result = xp.zeros((channels, grad.shape[1] // channels, 1, *kernel), grad.dtype)
    grads = _on_plane(xp, grad, channels, plane, stride)[..., :length]
    for of_image, image in zip(grads, x.reshape(count, channels, math.prod(plane), 1), strict=True):
        for offset, first in shifts:
            result[(..., *offset)] += xp.matmul(of_image, image[:, first : first + length])
    return result.reshape(-1, 1, *kernel)


def _covered(output: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """The size of what the windows see; a stride, or the padding of a transposed output, may leave something over."""
    return tuple(t * (o - 1) + d * (k - 1) + 1 for t, o, d, k in zip(stride, output, dilation, kernel, strict=True))


def scatter(
    xp: Any, grad: Array, weight: Array, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The adjoint of `correlate` of a padded array, without its padding: (N, C, *size).

    Every output position adds its kernel to what it saw. With strides of 1 that is a convolution too, of the gradient
    between zeros with the kernel turned round; it pays where there are more positions than kernels to turn.
    """
    n, kernel, output = weight.ndim - 2, weight.shape[2:], grad.shape[2:]
    whole = tuple(s + 2 * p for s, p in zip(size, padding, strict=True))
    covered = _covered(output, kernel, stride, dilation)
    around = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True))
    positions = math.prod(output)
    small = len(grad) > 1 and _are_small(positions, kernel, groups) and xp.is_host
    turns = set(stride) == {1} and groups == 1 and covered == whole and min(around) >= 0
    shrunk = small and 3 * positions < 2 * math.prod(size)  # by its kernel: the turned one would see many zeros
    if turns and not shrunk and grad.size >= weight.shape[0] ** 2:
        turned = xp.flip(weight, tuple(range(2, 2 + n))).swapaxes(0, 1)
        return correlate(xp, grad, turned, stride, around, dilation, 1)
    shape = (len(grad), weight.shape[1] * groups, *whole)
    result = xp.zeros(shape, grad.dtype)
    if 1 < groups == shape[1] and xp.is_host:
        _scatter_channels(xp, grad, weight, result, stride, dilation)
        return _without(xp, result, size, padding)
    count, outputs, depth = len(grad), weight.shape[0], math.prod(weight.shape[1:])
    kernels = weight.reshape(groups, outputs // groups, depth).swapaxes(1, 2)
    for part in _chunks(xp, count if grad.size else 0, groups * depth * positions):
        images = grad[part]
        if small:
            columns = xp.dot(kernels[0], _images_last(xp, images).reshape(outputs, -1))
            columns = columns.reshape(1, shape[1], *kernel, 1, *output, len(images))
            total = xp.zeros((1, *shape[1:], len(images)), grad.dtype)
            add_windows(xp, total, columns, (*stride, 1), (*dilation, 1))
            result[part] = total[0].transpose(-1, *range(total.ndim - 2))
        else:
            columns = xp.matmul(kernels, images.reshape(len(images), groups, outputs // groups, positions))
            columns = columns.reshape(len(images), shape[1], *kernel, *output)
            add_windows(xp, result[part], columns, stride, dilation)
    return _without(xp, result, size, padding)


def _without(xp: Any, array: Array, size: Ints, padding: Ints) -> Array:
    if not any(padding):
        return array
    return xp.ascontiguousarray(array[(..., *(slice(p, p + s) for s, p in zip(size, padding, strict=True)))])


def outer(xp: Any, grad: Array, x: Array, kernel: Ints, stride: Ints, dilation: Ints, groups: int) -> Array:
    """The adjoint of `correlate` in the weight: what was seen, weighted by the gradient of what was made of it."""
    if 1 < groups == x.shape[1] and xp.is_host:
        return _outer_channels(xp, grad, x, kernel, stride, dilation)
    count, outputs, size = len(grad), grad.shape[1], grad.shape[2:]
    positions, depth = math.prod(size), x.shape[1] // groups * math.prod(kernel)
    result = xp.zeros((groups, outputs // groups, depth), grad.dtype)
    if grad.size:
        for part in _chunks(xp, count, groups * depth * positions):
            grads = grad[part]
            if _are_small(positions, kernel, groups):
                whole = _images_last(xp, x[part])
                columns = matrix_of_windows(xp, whole, (*kernel, 1), (*size, len(grads)), (*stride, 1), (*dilation, 1))
                result[0] += xp.dot(_images_last(xp, grads).reshape(outputs, -1), columns.reshape(depth, -1).T)
            else:
                columns = matrix_of_windows(xp, x[part], kernel, size, stride, dilation)
                columns = columns.reshape(len(grads), groups, depth, positions).swapaxes(2, 3)
                result += xp.matmul(grads.reshape(len(grads), groups, outputs // groups, positions), columns).sum(0)
    return result.reshape(outputs, x.shape[1] // groups, *kernel)
