"""The route by lines: for many columns and deep kernels, with steps of one column; no window is copied."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.convolution.im2col import Ints, chunks


def correlate_lines(
    xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
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
    for part in chunks(xp, len(x), x[0].size):
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
