"""The loops of `kernels/normalization.py`, row by row, or channel by channel of images."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from minitorch.arrays import Array, Shape
from minitorch.arrays.loops import are_contiguous, are_numbers, have_rows
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.inner import add, dot
from minitorch.kernels.loops.threads import by_parts
from minitorch.kernels.normalization import are_planes

FEW: Final = 8
"""Planes of fewer elements are computed faster in NumPy."""


def normalize_into(result: Array, x: Array, weight: Array | None, bias: Array | None, axes: Shape, eps: float) -> bool:
    """result = x̂ · weight + bias, of the last dimensions or of channels."""
    rows = _rows(axes, weight, bias, result, x)
    if rows is None or not are_numbers(eps):
        return False
    weight, bias, result, x = rows
    if x.ndim == 3:
        return _normalize_planes(result, x, weight, bias, float(eps))
    return by_parts(_normalize_into, (result, x), weight, bias, float(eps))


def gradient_into(
    result: Array, product: Array, grad: Array, x: Array, weight: Array | None, axes: Shape, eps: float
) -> bool:
    """result = s · P(grad · weight), product = grad · x̂, of the last dimensions or of channels."""
    rows = _rows(axes, weight, None, result, product, grad, x)
    if rows is None or not are_numbers(eps):
        return False
    weight, _, result, product, grad, x = rows
    if x.ndim == 3:
        return _gradient_of_planes(result, product, grad, x, weight, float(eps))
    return by_parts(_gradient_into, (result, product, grad, x), weight, float(eps))


def scale_into(result: Array, x: Array, scale: Array, shift: Array) -> bool:
    """result = x · scale + shift, of channels whose planes have more than a few elements."""
    channels = x.shape[1]
    width = math.prod(x.shape[2:])
    if width < FEW or not are_contiguous(result, x) or not scale.size == shift.size == channels:
        return False
    matrices = [each.reshape(-1, width) for each in (result, x)]
    vectors = [each.reshape(1, -1) for each in (scale, shift)]
    planes = [each.reshape(-1, channels, width) for each in matrices]
    return have_rows(*matrices, *vectors) and by_parts(_scale_into, planes, *(each[0] for each in vectors))


def _rows(axes: Shape, weight: Array | None, bias: Array | None, *arrays: Array) -> list[Array] | None:
    """Weight and bias as vectors, empty where there is none, and the others as matrices, or as channels of planes.

    A weight has as many elements as a row, or as there are channels. None for other layouts.
    """
    shape = arrays[0].shape
    kept = len(shape) - len(axes)
    planes = are_planes(axes, *arrays)
    if not axes or not (planes or min(axes) >= kept) or not arrays[0].size:
        return None
    if not are_contiguous(*arrays):  # `reshape` would copy it
        return None
    row = shape[2:] if planes else shape[kept:]
    weights = (1, shape[1], *[1] * len(row)) if planes else (*[1] * kept, *row)
    vectors = []
    for each in (weight, bias):
        if each is None:
            vectors.append(arrays[0].reshape(1, -1)[:, :0])
        elif each.shape == weights:
            vectors.append(each.reshape(1, -1))
        else:
            return None
    matrices = [each.reshape(-1, math.prod(row)) for each in arrays]
    if not have_rows(*matrices, *vectors):
        return None
    if planes:
        matrices = [each.reshape(*shape[:2], -1) for each in arrays]
    return [*(each[0] for each in vectors), *matrices]


@compiled
def standardize(x: Array, row: Array, eps: float) -> float:
    """Writes x̂ to `row` and returns what it was scaled by."""
    number = x.dtype.type
    mean = add(x, number(0)) / number(x.size)
    for j in range(x.size):
        row[j] = x[j] - mean
    scale = number(1) / math.sqrt(dot(row, row) / number(x.size) + number(eps))
    for j in range(x.size):
        row[j] *= scale
    return scale


@compiled
def normalize_row(x: Array, weight: Array, bias: Array, eps: float, row: Array) -> None:
    """Writes x̂ · weight + bias to `row`."""
    standardize(x, row, eps)
    if weight.size:
        for j in range(row.size):
            row[j] *= weight[j]
    if bias.size:
        for j in range(row.size):
            row[j] += bias[j]


@compiled
def _normalize_into(result: Array, x: Array, weight: Array, bias: Array, eps: float) -> bool:
    for i in range(len(x)):
        normalize_row(x[i], weight, bias, eps, result[i])
    return True


@compiled
def _scale_into(result: Array, x: Array, scale: Array, shift: Array) -> bool:
    for i in range(len(x)):
        for c in range(scale.size):
            row, into = x[i, c], result[i, c]
            for j in range(row.size):
                into[j] = row[j] * scale[c] + shift[c]
    return True


@compiled
def _gradient_into(result: Array, product: Array, grad: Array, x: Array, weight: Array, eps: float) -> bool:
    normal = np.empty_like(x[0])
    number = x.dtype.type
    count = number(normal.size)
    for i in range(len(x)):
        row = result[i]
        scale = standardize(x[i], normal, eps)
        for j in range(row.size):
            product[i, j] = grad[i, j] * normal[j]
            row[j] = grad[i, j] * weight[j] if weight.size else grad[i, j]
        along = dot(row, normal) / count
        mean = add(row, number(0)) / count
        for j in range(row.size):
            row[j] = (row[j] - (normal[j] * along + mean)) * scale
    return True


@compiled
def standardize_channel(x: Array, c: int, normal: Array, at: int, sums: Array, eps: float) -> float:
    """Writes x̂ of a channel's planes to `normal[:, at]` and returns what it was scaled by."""
    number = x.dtype.type
    zero, count = number(0), number(x.shape[0] * x.shape[2])
    for i in range(len(x)):
        sums[i] = add(x[i, c], zero)
    mean = add(sums, zero) / count
    for i in range(len(x)):
        plane, row = x[i, c], normal[i, at]
        for j in range(row.size):
            row[j] = plane[j] - mean
        sums[i] = dot(row, row)
    scale = number(1) / math.sqrt(add(sums, zero) / count + number(eps))
    for i in range(len(x)):
        row = normal[i, at]
        for j in range(row.size):
            row[j] *= scale
    return scale


@compiled
def _normalize_planes(result: Array, x: Array, weight: Array, bias: Array, eps: float) -> bool:
    sums = np.empty(len(x), x.dtype)
    for c in range(x.shape[1]):
        standardize_channel(x, c, result, c, sums, eps)
        for i in range(len(x)):
            row = result[i, c]
            if weight.size:
                for j in range(row.size):
                    row[j] *= weight[c]
            if bias.size:
                for j in range(row.size):
                    row[j] += bias[c]
    return True


@compiled
def _gradient_of_planes(result: Array, product: Array, grad: Array, x: Array, weight: Array, eps: float) -> bool:
    normal = np.empty_like(x[:, :1])
    number = x.dtype.type
    zero, count = number(0), number(x.shape[0] * x.shape[2])
    sums, products = np.empty(len(x), x.dtype), np.empty(len(x), x.dtype)
    for c in range(x.shape[1]):
        scale = standardize_channel(x, c, normal, 0, sums, eps)
        for i in range(len(x)):
            plane, of_output, times, row = normal[i, 0], grad[i, c], product[i, c], result[i, c]
            for j in range(row.size):
                times[j] = of_output[j] * plane[j]
                row[j] = of_output[j] * weight[c] if weight.size else of_output[j]
            products[i] = dot(row, plane)
            sums[i] = add(row, zero)
        along, mean = add(products, zero) / count, add(sums, zero) / count
        for i in range(len(x)):
            plane, row = normal[i, 0], result[i, c]
            for j in range(row.size):
                row[j] = (row[j] - (plane[j] * along + mean)) * scale
    return True
