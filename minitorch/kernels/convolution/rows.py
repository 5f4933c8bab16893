"""The route by rows: for many columns; a matrix product for each row of the output, of all images."""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.convolution.im2col import Ints, chunks, padded, windows


def correlate_rows(xp: Any, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    """`correlate` without groups and vertical dilation: a matrix product for each row of the output, of all images.

    Of the windows only the columns are copied, for a 3 × 3 kernel a third of what it sees. As the rows of the input are
    outermost in the copy, those under the kernel are a matrix as they lie, which overlaps with the next row's.
    """
    x = padded(xp, x, padding)
    n, outputs = weight.ndim - 2, weight.shape[0]
    kernel, one = weight.shape[2:], (1,) * (n - 1)
    size = windows(xp, x, kernel, stride, dilation).shape[2 + n :]
    result = xp.empty((len(x), outputs, *size), x.dtype)
    for part in chunks(
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
