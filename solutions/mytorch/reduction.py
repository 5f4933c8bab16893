"""Operations that bring many elements together: sums, extremes, statistics, matrix products."""

# 02 · Tensors and storage
from __future__ import annotations

from typing import Any

import numpy as np

from .creation import _to_copy
from .dispatch import method, operation
from .settings import TYPE_NAMES
from .strides import count_of, normalize_dim, normalize_dims
from .tensor import Tensor

Dims = int | tuple[int, ...] | list[int] | None


@operation
def sum(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The sum along the dimensions `dim` (all of them). Sums of booleans and integers are int64.

    Those of 16-bit floating-point numbers are made in float32 and rounded once.
    """
    dtype = np.int64 if x.dtype.kind in "biu" else x.dtype
    wide = np.float32 if x.dtype.kind not in "biu" and x.dtype.itemsize == 2 else dtype
    return np.sum(x, normalize_dims(dim, x.ndim), dtype=wide, keepdims=keepdim).astype(dtype)


@operation
def prod(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The product along one dimension, or of all elements."""
    dtype = np.int64 if x.dtype.kind in "biu" else x.dtype
    return np.prod(x, normalize_dims(dim, x.ndim), dtype=dtype, keepdims=keepdim)


@operation
def amax(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The largest element along the dimensions `dim` (all of them)."""
    return np.max(x, normalize_dims(dim, x.ndim), keepdims=keepdim)


@operation
def amin(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The smallest element along the dimensions `dim` (all of them)."""
    return np.min(x, normalize_dims(dim, x.ndim), keepdims=keepdim)


@operation
def argmax(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the largest element is: the first of them, in row-major order if `dim` is None."""
    return np.argmax(x, None if dim is None else normalize_dim(dim, x.ndim), keepdims=keepdim)


@operation
def argmin(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the smallest element is: the first of them, in row-major order if `dim` is None."""
    return np.argmin(x, None if dim is None else normalize_dim(dim, x.ndim), keepdims=keepdim)


@operation
def argsort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """The indices that sort the elements along one dimension; equal elements keep their order."""
    if not descending:
        return np.argsort(x, normalize_dim(dim, x.ndim), kind="stable")
    backwards = np.argsort(np.flip(x, dim), normalize_dim(dim, x.ndim), kind="stable")
    return np.flip(x.shape[dim] - 1 - backwards, dim)


@operation
def all(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether no element is zero or False."""
    return np.all(x, normalize_dims(dim, x.ndim), keepdims=keepdim)


@operation
def any(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether an element is other than zero or False."""
    return np.any(x, normalize_dims(dim, x.ndim), keepdims=keepdim)


@operation
def cumsum(x: Any, dim: int) -> Any:
    """The sums of the first one, two, three … elements along a dimension."""
    return np.cumsum(x, normalize_dim(dim, x.ndim), dtype=np.int64 if x.dtype.kind in "biu" else x.dtype)


@operation
def matmul(x: Any, y: Any) -> Any:
    """The matrix product of the last two dimensions; a vector counts as a row on the left, as a column on the right.

    Raises:
        RuntimeError: other lengths than the product allows, or two types.
    """
    if x.dtype != y.dtype:
        names = {"float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long", "int32": "int"}
        found = [names.get(each.dtype.name, each.dtype.name) for each in (x, y)]
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {found[0]} != {found[1]}")
    if x.ndim == 2 and y.ndim == 2 and x.shape[1] != y.shape[0]:
        shapes = " and ".join("x".join(map(str, each.shape)) for each in (x, y))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    try:
        return np.matmul(x, y)
    except ValueError:
        raise RuntimeError(f"matmul: shapes {list(x.shape)} and {list(y.shape)} do not fit") from None


Tensor.__matmul__ = matmul


def check_floating(x: Tensor, name: str) -> None:
    """Refuse integers and booleans, in the words of `mean` or `var`."""
    if x.is_floating_point():
        return
    if name == "var":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    raise RuntimeError(
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
        f"Got: {TYPE_NAMES[x.dtype.name]}"
    )


@method
def mean(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The sum along `dim`, divided by how many elements went into it: `elements_along(x, dim)`.

    The result has the type of `x`. Types of 16 bits are computed in float32, `x.float()`, and converted
    at the end, `_to_copy(result, x.dtype)`, so that a sum above 65504 doesn't become inf.

    Raises:
        RuntimeError: the elements are not floating-point numbers (by `check_floating(x, "mean")`).
    """
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    result = wide.sum(dim, keepdim) / elements_along(x, dim)
    return result if wide is x else _to_copy(result, x.dtype)


@method
def var(x: Tensor, dim: Dims = None, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The mean squared distance from the mean along `dim`, over n - correction instead of n elements.

    The default, 1, estimates the variance of what the elements were drawn from (Bessel's correction);
    0 is that of the elements themselves. A divisor below 0 counts as 0: the result is nan or inf.
    Types of 16 bits are computed in float32 and converted at the end, as in `mean`.

    Raises:
        RuntimeError: the elements are not floating-point numbers (by `check_floating(x, "var")`).
    """
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    distance = wide - wide.mean(dim, keepdim=True)
    result = (distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0)
    return result if wide is x else _to_copy(result, x.dtype)


@method
def std(x: Tensor, dim: Dims = None, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The square root of the variance, rounded once where the type has 16 bits."""
    wide = x.float() if x.is_floating_point() and x.dtype.itemsize == 2 else x
    result = var(wide, dim, correction, keepdim).sqrt()
    return result if wide is x else _to_copy(result, x.dtype)


def elements_along(x: Tensor, dim: Dims) -> int:
    """How many elements each result of a reduction along `dim` is made of."""
    return count_of(tuple(x.shape[each] for each in normalize_dims(dim, x.ndim)))


@method
def allclose(x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Whether |x - y| ≤ atol + rtol·|y| for all elements."""
    return bool(((x - y).abs() <= y.abs() * rtol + atol).all())


@method
def equal(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    return x.shape == y.shape and bool((x == y).all())
