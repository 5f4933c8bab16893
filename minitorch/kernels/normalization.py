"""Normalization by mean and variance, for blocks that stay in the processor's cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from minitorch.arrays import Array, Shape
from minitorch.arrays.blocks import blocks
from minitorch.arrays.kernel import on_gpu
from minitorch.arrays.loops import FLOATS, on_cpu
from minitorch.dtypes import FROM_NUMPY
from minitorch.kernels.summation import add_up

PLANE: Final = 128
"""The elements of a plane, or row of an image, from which on it is added up by itself without losing time."""


def _blocks(xp: Any, x: Array, axes: Shape) -> Iterator[slice]:
    """Parts of the first dimension that are normalized independently; all of it where it is one of the axes."""
    if not x.size or 0 in axes:
        return iter([slice(None)])
    return blocks(xp, len(x), x.nbytes // len(x), live=2)


def _mean(xp: Any, x: Array, axes: Shape) -> Array:
    """The mean over `axes`; over the last dimensions of each row by itself, so that it is the same in any batch."""
    kind = FROM_NUMPY[x.dtype]
    if _trailing(axes, x) or are_planes(axes, x):
        total = _over_rows(xp, add_up(xp, _rows(x, axes), -1, False, kind), x, axes)
    else:
        total = add_up(xp, x, axes, True, kind)
    return xp.true_divide(total, math.prod(x.shape[axis] for axis in axes), dtype=x.dtype).reshape(_kept(x.shape, axes))


def _mean_product(xp: Any, x: Array, y: Array, axes: Shape) -> Array:
    """The mean of x · y; over trailing dimensions as inner products of rows, which don't store it."""
    if not (_trailing(axes, x, y) or are_planes(axes, x, y)):
        return _mean(xp, x * y, axes)
    one, other = _rows(x, axes), _rows(y, axes)
    total = _over_rows(xp, xp.matmul(one[:, None, :], other[:, :, None]), x, axes)
    return (total / x.dtype.type(math.prod(x.shape[axis] for axis in axes))).reshape(_kept(x.shape, axes))


def _trailing(axes: Shape, *arrays: Array) -> bool:
    """Whether the axes are the last dimensions of arrays that lie row by row."""
    return min(axes, default=0) >= arrays[0].ndim - len(axes) and all(each.flags.c_contiguous for each in arrays)


def are_planes(axes: Shape, *arrays: Array) -> bool:
    """Whether arrays (N, C, …) that lie row by row are normalized over all but the channels, in planes of some size."""
    shape = arrays[0].shape
    return (
        axes == (0, *range(2, len(shape)))
        and math.prod(shape[2:]) >= PLANE
        and all(each.flags.c_contiguous and each.dtype in FLOATS for each in arrays)
    )


def _rows(x: Array, axes: Shape) -> Array:
    """A matrix whose rows are those axes which are the last dimensions."""
    first = 2 if axes[0] == 0 and len(axes) < x.ndim else x.ndim - len(axes)
    return x.reshape(math.prod(x.shape[:first]), math.prod(x.shape[first:]))


def _over_rows(xp: Any, sums: Array, x: Array, axes: Shape) -> Array:
    """The sums of rows; of planes, those of a channel's planes, added up pairwise."""
    return xp.ascontiguousarray(sums.reshape(x.shape[:2]).T).sum(-1) if are_planes(axes, x) else sums


def _kept(shape: Shape, axes: Shape) -> Shape:
    """The shape with 1 in place of the axes."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


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
@on_cpu("normalization")
def normalize_into(
    xp: Any, result: Array, x: Array, weight: Array | None, bias: Array | None, axes: Shape, eps: float
) -> None:
    """result = x̂ · weight + bias."""
    for block in _blocks(xp, x, axes):
        normal, _ = standardized(xp, x[block], axes, eps, out=result[block])
        if weight is not None:
            normal *= weight
        if bias is not None:
            normal += bias


def normalized(xp: Any, x: Array, weight: Array | None, bias: Array | None, axes: Shape, eps: float) -> Array:
    """x̂ · weight + bias, x̂ being x standardized over `axes`; weight and bias broadcast to x."""
    result = xp.empty(x.shape, x.dtype)
    normalize_into(xp, result, x, weight, bias, axes, eps)
    return result


@on_cpu("normalization")
def scale_into(xp: Any, result: Array, x: Array, scale: Array, shift: Array) -> None:
    """result = x · scale + shift, of one scale and shift for each channel of (N, C, …)."""
    xp.multiply(x, scale, out=result)
    result += shift


def _gradient_rows(
    result: Array, product: Array, grad: Array, x: Array, weight: Array | None, axes: Shape, eps: float
) -> tuple[int, tuple[Any, ...]] | None:
    rows = _by_row(x.shape, axes, weight)
    return None if rows is None else (rows[0], (result, product, grad, x, weight, eps, *rows[1]))


@on_gpu("normalization.cu", _gradient_rows)
@on_cpu("normalization")
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
