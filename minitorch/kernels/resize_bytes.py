"""Resizing images of bytes with whole numbers only: weights of 16 bits, sums of 32.

The rows are resized first and rounded to bytes, then the columns. Pillow resizes so, and PyTorch after it:
https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cpu/UpSampleKernel.cpp
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array


def resize_bytes(xp: Any, image: Array, taps: Sequence[tuple[Array, Array]]) -> Array:
    """(N, C, *size) → (N, C, *output), with the input indices and float64 weights (taps, output) of each dimension."""
    for axis in range(image.ndim - 1, 1, -1):
        index, weight = taps[axis - 2]
        size = image.shape[axis]
        if weight.shape[1] == size:
            continue
        first, weight, precision = _whole_weights(xp, index, weight)
        along = (-1, *[1] * (image.ndim - 1 - axis))
        total: Any = 1 << (precision - 1)
        for k, each in enumerate(weight):
            total = total + xp.take(image, xp.minimum(first + k, size - 1), axis) * each.reshape(along)
        image = xp.clip(total >> precision, 0, 255).astype("uint8")
    return image


def _whole_weights(xp: Any, index: Array, weight: Array) -> tuple[Array, Array, int]:
    """The first input of each output, the weights of the inputs from there on as integers, and the bits these have
    behind the point: as many as leave the largest below 2¹⁵.
    """
    first, columns = index.min(0), xp.arange(weight.shape[1])
    merged, largest = xp.zeros_like(weight), 0.0  # at the border several taps fall on one input
    for position, each in zip(index - first, weight, strict=True):
        merged[position, columns] += each
        largest = max(largest, float(merged[position, columns].max()))
    precision = next((bits for bits in range(22) if int(0.5 + largest * (2 << bits)) >= 1 << 15), 22)
    scaled = merged * (1 << precision)
    return first, xp.trunc(scaled + xp.where(scaled < 0, -0.5, 0.5)).astype("int32"), precision
