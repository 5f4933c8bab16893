"""Ops that fold dimensions away: sums, means, products, and their logical kin.

Source: https://pytorch.org/docs/stable/torch.html#reduction-ops
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Dims
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.op import CASTS, COMPUTES, COMPUTES_FLOATS
from minitorch.dispatch.out_types import OF_BOOLS
from minitorch.dtypes import FLOATING, FROM_NUMPY, SCALAR_TYPES, float32, int64, type_name, uint8
from minitorch.dtypes import dtype as DType
from minitorch.kernels.masking import keep
from minitorch.kernels.summation import add_up
from minitorch.ops.creation.conversion import cast
from minitorch.ops.indexing.joining import cat
from minitorch.ops.views.shape import checked_dims
from minitorch.size import check_dim
from minitorch.tensor import Tensor, holds_somewhere


def dims_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions meant by an argument `dim`, counted from the front: None and () mean all of them.

    Raises IndexError for one that doesn't exist, RuntimeError for one that is named twice.
    """
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    dims = checked_dims(dim, ndim)
    return dims if ndim else ()


def _named_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The same where an empty list means no dimension."""
    return () if isinstance(dim, (tuple, list)) and not dim else dims_of(dim, ndim)


def unreduced(grad: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """A tensor of a reduction's result shape, with the reduced dimensions back as ones: it broadcasts to `shape`."""
    if keepdim or not shape or dim is None:
        return grad
    dims = dims_of(dim, len(shape))
    return grad.reshape([1 if d in dims else size for d, size in enumerate(shape)])


def count_of(shape: tuple[int, ...], dim: Dims) -> int:
    """How many elements are folded into one."""
    return math.prod(shape[d] for d in dims_of(dim, len(shape)))


def sum_type(array: Array, dtype: DType | None) -> DType:
    """The dtype of a sum or product: what was asked for, int64 for integers, otherwise the array's own."""
    if dtype is not None:
        return dtype
    own = FROM_NUMPY[array.dtype]
    return int64 if own.category < FLOATING else own


def real_if(xp: Any, array: Array, dtype: DType | None) -> Array:
    """The array in the dtype that was asked for, where that is real and the array complex; otherwise as it is."""
    return cast(xp, array, dtype) if dtype is not None and array.dtype.kind == "c" and not dtype.is_complex else array


def rounded_to(xp: Any, array: Array, dtype: DType | None) -> Array:
    """What a sum in the dtype that was asked for adds up: numbers of two bytes are rounded before, and `real_if`."""
    if dtype is not None and dtype.is_low_precision and array.dtype != dtype.numpy:
        return cast(xp, array, dtype)
    return real_if(xp, array, dtype)


def _rounded(result: Array, kind: DType) -> Array:
    return result.astype(kind.numpy) if kind.is_low_precision else result


@declare(
    keyword_only="dtype",
    out_type=COMPUTES,
    row_major=True,
    variants="function method out",
    derivatives={
        "self": lambda grad, self_shape, dim, keepdim: unreduced(grad, self_shape, dim, keepdim).expand(self_shape)
    },
    node=lambda self, dim, keepdim, dtype: "SumBackward0" if dim is None else "SumBackward1",
    autocast_on_gpu="float32 results",
)
def sum(xp: Any, self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """Σ of the elements along `dim`."""
    kind = sum_type(self, dtype)
    array = self if dtype is None else rounded_to(xp, self, dtype)
    return add_up(xp, array, dims_of(dim, self.ndim), keepdim, kind).astype(kind.numpy, copy=False)


@declare(
    keyword_only="dtype",
    out_type=COMPUTES_FLOATS,
    row_major=True,
    variants="function method out",
    derivatives={"self": lambda grad, self, dim, keepdim: unreduced(grad, self.shape, dim, keepdim) * ~self.isnan()},
)
def nansum(xp: Any, self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """Σ of the elements along `dim` that aren't NaN. Raises RuntimeError for complex numbers."""
    kind = sum_type(self, dtype)
    if kind.is_complex or self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    dims, self = dims_of(dim, self.ndim), rounded_to(xp, self, dtype)
    total = add_up(xp, self, dims, keepdim, kind)
    if (total != total).any():  # of NaNs, or of both infinities
        total = add_up(xp, keep(xp, self, self == self), dims, keepdim, kind)
    return _rounded(total, kind)


@declare(
    keyword_only="dtype",
    out_type=COMPUTES_FLOATS,
    row_major=True,
    variants="function method out",
    derivatives={
        "self": lambda grad, self_shape, dim, keepdim: (
            unreduced(grad, self_shape, dim, keepdim).expand(self_shape) / count_of(self_shape, dim)
        )
    },
    node=lambda self, dim, keepdim, dtype: "MeanBackward0" if dim is None else "MeanBackward1",
)
def mean(xp: Any, self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """Σ / n along `dim`. Raises RuntimeError for integers and bools without a floating `dtype`."""
    kind = FROM_NUMPY[self.dtype] if dtype is None else dtype
    if kind.category < FLOATING:
        given = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {given} dtype must be either a floating point or complex dtype. "
            f"Got: {SCALAR_TYPES[kind.name]}"
        )
    total = add_up(xp, real_if(xp, self, dtype), dims_of(dim, self.ndim), keepdim, kind)
    return _rounded(xp.true_divide(total, count_of(self.shape, dim), dtype=total.dtype), kind)


@composite(out_type=CASTS, variants="function method out")
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Σ / n along `dim` of the elements that aren't NaN. Raises RuntimeError for integers and complex numbers."""
    if input._dtype.category < FLOATING:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {type_name(input)}"
        )
    count = (~input.isnan()).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _prod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """∏ of all other elements: result / self, or where there are zeros the products of what is before and after."""
    shape = self.shape
    if not shape:
        return grad
    if dim is None:
        flat = self.reshape(-1)
        return (grad * _quotients(flat, result.reshape(1), 0)).reshape(shape)
    others = _quotients(self, unreduced(result, shape, dim, keepdim), dim % len(shape))
    return unreduced(grad, shape, dim, keepdim) * others


def _quotients(self: Tensor, product: Tensor, dim: int) -> Tensor:
    """The products of the other elements, by division where that can be done."""
    return products_of_others(self, dim) if holds_somewhere(self.eq(0)) else (product / self).conj()


def products_of_others(self: Tensor, dim: int) -> Tensor:
    """For each element the product, conjugated, of those before and after it along `dim`."""
    ones = self.new_ones([1 if d == dim else size for d, size in enumerate(self.shape)])
    size = self.shape[dim]
    before = cat([ones, self.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    after = cat([ones, self.narrow(dim, 1, size - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return (before * after).conj()


@declare(
    keyword_only="dtype",
    autocast="float32",
    out_type=COMPUTES,
    row_major=True,
    variants="function method out",
    derivatives={"self": _prod_backward},
    node=lambda self, dim, keepdim, dtype: "ProdBackward0" if dim is None else "ProdBackward1",
    autocast_on_gpu="float32 results",
)
def prod(xp: Any, self: Array, dim: int | None = None, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """∏ of the elements along `dim`."""
    kind = sum_type(self, dtype)
    working = (float32 if kind.is_low_precision else kind).numpy
    axis = None if dim is None else (check_dim(dim, self.ndim),)[: self.ndim]
    product = xp.prod(rounded_to(xp, self, dtype).astype(working, copy=False), axis, keepdims=keepdim)
    return product.astype(kind.numpy, copy=False)  # NumPy multiplies small integers as large ones


@declare(out_type=OF_BOOLS, row_major=True, variants="function method out")
def all(xp: Any, self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Whether all elements along `dim` are nonzero; with an empty list of dimensions, whether each is."""
    result = xp.all(self != 0, axis=_named_dims(dim, self.ndim), keepdims=keepdim)
    return result.astype(self.dtype) if FROM_NUMPY[self.dtype] is uint8 else result


@declare(out_type=OF_BOOLS, row_major=True, variants="function method out")
def any(xp: Any, self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Whether some element along `dim` is nonzero; with an empty list of dimensions, whether each is."""
    result = xp.any(self != 0, axis=_named_dims(dim, self.ndim), keepdims=keepdim)
    return result.astype(self.dtype) if FROM_NUMPY[self.dtype] is uint8 else result


@declare(row_major=True)
def count_nonzero(xp: Any, self: Array, dim: Dims = None) -> Array:
    """How many elements along `dim` aren't zero."""
    return xp.sum(self != 0, axis=dims_of(dim, self.ndim), dtype=xp.int64)


@declare(
    out_type=CASTS,
    row_major=True,
    promotion="to float",
    upcast=True,
    variants="function method out",
    derivatives={
        "self": lambda grad, self, result, dim, keepdim: (
            unreduced(grad, self.shape, dim, keepdim)
            * (self - unreduced(result, self.shape, dim, keepdim)).exp().conj()
        )
    },
    autocast_on_gpu="float32",
)
def logsumexp(xp: Any, self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """log Σ exp(x) along `dim`, without overflow. Raises RuntimeError for an empty list, unless the tensor is 0-d."""
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' (position 2) must be tuple of ints, not NoneType")
    axes = dims_of(dim, self.ndim)
    if not self.size:
        return xp.log(xp.sum(xp.exp(self), axis=axes, keepdims=keepdim))
    if self.ndim and not keepdim and isinstance(dim, (tuple, list)) and not dim:
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {[1] * self.ndim}")
    largest = xp.max(self.real, axis=axes, keepdims=True)
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros((), largest.dtype))
    total = xp.log(xp.sum(xp.exp(self - largest), axis=axes, keepdims=keepdim))
    return total + largest.reshape(total.shape)


@declare(
    autocast="float32",
    derivatives={
        "self": lambda grad, self_shape: grad.new_zeros(self_shape).diagonal_scatter(grad.expand(min(self_shape)))
    },
    autocast_on_gpu="",
)
def trace(xp: Any, self: Array) -> Array:
    """Σ of a matrix's diagonal: (n, m) → 0-d; of integers int64.

    Raises RuntimeError for another number of dimensions, NotImplementedError for bool.
    """
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype == bool:
        raise not_implemented("trace", "bool")
    kind = sum_type(self, None)
    return _rounded(add_up(xp, xp.diagonal(self), (0,), False, kind), kind)
