"""Operations that bring many elements together: sums, extremes, statistics, matrix products."""

# 02b · Types and dispatch
from __future__ import annotations

from typing import Any

import numpy as np

from .checks import refuse
from .creation import _to_copy
from .dispatch import Function, Operation, method, operation, run_on_arrays
from .settings import TYPE_NAMES
from .strides import count_of, normalize_dim, normalize_dims
from .tensor import Tensor

Dims = int | tuple[int, ...] | list[int] | None


@operation
def sum(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """The sum along the dimensions `dim` (all of them), int64 for booleans and integers. 16-bit types round once."""
    dtype = total_type(x)
    total = x.sum(normalize_dims(dim, x.ndim), dtype=wide_type(dtype), keepdims=keepdim)
    return total.astype(dtype, copy=False)


@operation
def prod(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The product along one dimension, or of all elements."""
    return np.prod(x, normalize_dims(dim, x.ndim), dtype=total_type(x), keepdims=keepdim)


def total_type(x: Any) -> Any:
    """The type of a sum or product: int64 for booleans and integers."""
    return np.dtype(np.int64) if x.dtype.kind in "biu" else x.dtype


def wide_type(type: Any) -> Any:
    """The type in which numbers are added up: float32 for those of 16 bits, so that the result is rounded once."""
    return np.float32 if type.kind not in "biu" and type.itemsize == 2 else type


def along_dims(function: Function, name: str) -> Operation:
    """The operation that reduces the dimensions `dim`, or all of them, by one of NumPy's functions."""

    def kernel(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        return function(x, normalize_dims(dim, x.ndim), keepdims=keepdim)

    return Operation(kernel, run_on_arrays, name)


amax, amin = along_dims(np.max, "amax"), along_dims(np.min, "amin")
all, any = along_dims(np.all, "all"), along_dims(np.any, "any")


def first_place(function: Function, name: str) -> Operation:
    """The operation that says where the largest or smallest element is: the first, in row-major order without `dim`."""

    def kernel(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return function(x, None if dim is None else normalize_dim(dim, x.ndim), keepdims=keepdim)

    return Operation(kernel, run_on_arrays, name)


argmax, argmin = first_place(np.argmax, "argmax"), first_place(np.argmin, "argmin")


@operation
def argsort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """The indices that sort the elements along one dimension; equal elements keep their order."""
    if not descending:
        return np.argsort(x, normalize_dim(dim, x.ndim), kind="stable")
    backwards = np.argsort(np.flip(x, dim), normalize_dim(dim, x.ndim), kind="stable")
    return np.flip(x.shape[dim] - 1 - backwards, dim)


@operation
def cumsum(x: Any, dim: int) -> Any:
    """The sums of the first one, two, three … elements along a dimension."""
    return np.cumsum(x, normalize_dim(dim, x.ndim), dtype=total_type(x))


@operation
def matmul(x: Any, y: Any) -> Any:
    """The matrix product of the last two dimensions; a vector counts as a row on the left, as a column on the right."""
    if x.dtype != y.dtype:
        names = {"float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long", "int32": "int"}
        found = [names.get(each.dtype.name, each.dtype.name) for each in (x, y)]
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {found[0]} != {found[1]}")
    if x.ndim == 2 and y.ndim == 2 and x.shape[1] != y.shape[0]:
        shapes = " and ".join("x".join(map(str, each.shape)) for each in (x, y))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    wide = wide_type(x.dtype)
    try:
        return np.matmul(x.astype(wide, copy=False), y.astype(wide, copy=False)).astype(x.dtype, copy=False)
    except ValueError:
        raise RuntimeError(f"matmul: shapes {list(x.shape)} and {list(y.shape)} do not fit") from None


Tensor.__matmul__ = matmul


def check_floating(x: Tensor, name: str) -> None:
    """Refuse integers and booleans, in the words of `mean` or `var`."""
    if not x.is_floating_point():
        refuse(name == "var", "std and var only support floating point and complex dtypes")
        wanted = "Input dtype must be either a floating point or complex dtype."
        raise RuntimeError(f"mean(): could not infer output dtype. {wanted} Got: {TYPE_NAMES[x.dtype.name]}")


@method
def mean(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The sum along `dim`, divided by how many elements went into it: `elements_along(x, dim)`."""
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    result = wide.sum(dim, keepdim) / elements_along(x, dim)
    return result if wide is x else _to_copy(result, x.dtype)


@method
def var(x: Tensor, dim: Dims = None, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The mean squared distance from the mean along `dim`, over n - correction instead of n elements."""
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
