"""Normalization by mean and variance, for blocks that stay in the processor's cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from minitorch.arrays import Array, Shape
from minitorch.arrays.blocks import blocks
from minitorch.arrays.kernel import on_gpu
from minitorch.dtypes import FROM_NUMPY
from minitorch.kernels.summation import add_up


def _blocks(xp: Any, x: Array, axes: Shape) -> Iterator[slice]:
    """Parts of the first dimension that are normalized independently; all of it where it is one of the axes."""
    if not x.size or 0 in axes:
        return iter([slice(None)])
    return blocks(xp, len(x), x.nbytes // len(x), live=2)


def _mean(xp: Any, x: Array, axes: Shape) -> Array:
    total = add_up(xp, x, axes, True, FROM_NUMPY[x.dtype])
    return xp.true_divide(total, math.prod(x.shape[axis] for axis in axes), dtype=x.dtype)


def _mean_product(xp: Any, x: Array, y: Array, axes: Shape) -> Array:
    """The mean of x · y; over trailing dimensions as inner products of rows, which don't store it."""
    kept = x.ndim - len(axes)
    if min(axes, default=0) < kept or not (x.flags.c_contiguous and y.flags.c_contiguous):
        return _mean(xp, x * y, axes)
    count = math.prod(x.shape[kept:])
    total = xp.matmul(x.reshape(-1, 1, count), y.reshape(-1, count, 1))
    return (total / x.dtype.type(count)).reshape(*x.shape[:kept], *(1,) * len(axes))


def standardized(xp: Any, x: Array, axes: Shape, eps: float, out: Array | None = None) -> tuple[Array, Array]:
    """(x − mean) / √(variance + eps) and 1 / √(variance + eps)."""
    centred = xp.subtract(x, _mean(xp, x, axes), out=out)
    variance = _mean_product(xp, centred, centred, axes)
    scale = 1 / xp.sqrt(variance + x.dtype.type(eps))
    centred *= scale
    return centred, scale


def _by_row(shape: Shape, axes: Shape, weight: Array | None) -> tuple[int, tuple[int, ...]] | None:
    """How many rows `normalization.cu` goes through, and what it must know of them; None if they aren't like that.

    What is kept has to be neighbouring dimensions, and what has one weight the last ones of those normalized over.
    """
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    first, last = (kept[0], kept[-1] + 1) if kept else (0, 0)
    if len(kept) != last - first:
        return None
    weights = (1,) * len(shape) if weight is None else weight.shape
    long = [axis for axis in axes if shape[axis] != 1]
    shared, own = ([axis for axis in long if (weights[axis] == 1) is alone] for alone in (True, False))
    if own and (first or min(shared, default=len(shape)) < max(own)):
        return None
    count = math.prod(weights)
    per_weight = math.prod(shape[axis] for axis in shared)
    return math.prod(shape[first:last]), (math.prod(shape[:first]), math.prod(shape[last:]), per_weight, count)


def _normalized_rows(
    result: Array, x: Array, weight: Array | None, bias: Array | None, axes: Shape, eps: float
) -> tuple[int, tuple[Any, ...]] | None:
    rows = _by_row(x.shape, axes, bias if weight is None else weight)
    return None if rows is None else (rows[0], (result, x, weight, bias, eps, *rows[1]))


@on_gpu("normalization.cu", _normalized_rows)
def normalize_into(
    xp: Any, result: Array, x: Array, weight: Array | None, bias: Array | None, axes: Shape, eps: float
) -> None:
    """result = x̂ · weight + bias."""
    normal, _ = standardized(xp, x, axes, eps, out=result)
    if weight is not None:
        normal *= weight
    if bias is not None:
        normal += bias


def normalized(xp: Any, x: Array, weight: Array | None, bias: Array | None, axes: Shape, eps: float) -> Array:
    """x̂ · weight + bias, x̂ being x standardized over `axes`; weight and bias broadcast to x."""
    result = xp.empty(x.shape, x.dtype)
    for block in _blocks(xp, x, axes):
        normalize_into(xp, result[block], x[block], weight, bias, axes, eps)
    return result


def _gradient_rows(
    result: Array, product: Array, grad: Array, x: Array, weight: Array | None, axes: Shape, eps: float
) -> tuple[int, tuple[Any, ...]] | None:
    rows = _by_row(x.shape, axes, weight)
    return None if rows is None else (rows[0], (result, product, grad, x, weight, eps, *rows[1]))


@on_gpu("normalization.cu", _gradient_rows)
def gradient_into(
    xp: Any, result: Array, product: Array, grad: Array, x: Array, weight: Array | None, axes: Shape, eps: float
) -> None:
    """result = s · P(grad · weight), product = grad · x̂, where P(u) = u − mean(u) − x̂ · mean(u · x̂)."""
    normal, scale = standardized(xp, x, axes, eps)
    xp.multiply(grad, normal, out=product)
    if weight is not None:
        grad = xp.multiply(grad, weight, out=result)
    normal *= _mean_product(xp, grad, normal, axes)
    normal += _mean(xp, grad, axes)
    xp.subtract(grad, normal, out=result)
    result *= scale


def gradients(
    xp: Any, grad: Array, x: Array, weight: Array | None, axes: Shape, shared: Shape, eps: float
) -> tuple[Array, Array, Array]:
    """s · P(grad · weight), and Σ grad · x̂ and Σ grad over the dimensions that `shared` elements of the weight serve.

    x̂ is computed again.
    """
    result, kind = xp.empty(x.shape, grad.dtype), FROM_NUMPY[grad.dtype]
    of_weight: Any = 0
    of_bias: Any = 0
    product: Array = None
    for block in _blocks(xp, x, axes):
        part = grad[block]
        product = xp.empty(part.shape, grad.dtype) if product is None else product[: len(part)]
        gradient_into(xp, result[block], product, part, x[block], weight, axes, eps)
        of_weight = of_weight + add_up(xp, product, shared, False, kind)
        of_bias = of_bias + add_up(xp, part, shared, False, kind)
    return result, of_weight, of_bias
