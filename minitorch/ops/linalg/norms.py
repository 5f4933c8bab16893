"""Norms of vectors and matrices. Source: https://pytorch.org/docs/stable/generated/torch.linalg.norm.html"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Dims
from minitorch.dispatch.declaration import OPS, composite, declare
from minitorch.dtypes import FROM_NUMPY, type_name
from minitorch.ops.linalg.qr_svd_eigh import svdvals
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.ops.reduction.sums import dims_of, unreduced
from minitorch.size import check_dim
from minitorch.tensor import Tensor


def _vector_norm_gradient(grad: Any, self: Any, ord: float, dim: Dims, keepdim: bool, result: Any) -> Any:
    shape = tuple(self.shape)
    grad, norm = unreduced(grad, shape, dim, keepdim), unreduced(result, shape, dim, keepdim)
    if ord == 0:
        return None
    if ord == 1:
        return self.sgn() * grad
    if ord == 2:
        return grad * (self / norm).masked_fill(norm.eq(0), 0)
    size = self.abs()
    if math.isinf(ord):
        # All elements of extreme size share the gradient.
        extreme = (size == norm) | size.isnan()
        return self.sgn() * extreme * (grad / extreme.sum(dims_of(dim, self.dim()), keepdim=True))
    if ord < 1:
        return self.sgn() * size.pow(ord - 1).masked_fill(self.eq(0), 0) * grad * norm.pow(1 - ord)
    slope = self.sgn() * size.pow(ord - 1) if ord < 2 else self * size.pow(ord - 2)
    return slope * (grad / norm.pow(ord - 1)).masked_fill(norm.eq(0), 0)


def _check_identity(shape: tuple[int, ...], ord: float, axes: tuple[int, ...] | None) -> None:
    """Raises RuntimeError where an extreme is taken of no element."""
    empty = [axis for axis in axes or () if not shape[axis]]
    if empty or axes is None:
        of = f"the dimension {empty[0]}because this dimension is empty and" if empty else "an empty tensor because"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on {of} the operation does not have an identity"
        )


@declare(
    keyword_only="dtype",
    row_major=True,
    upcast=True,
    variants="function out",
    namespace="linalg",
    derivatives={"self": _vector_norm_gradient},
    autocast_on_gpu="float32 results",
)
def vector_norm(
    xp: Any, self: Array, ord: float = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None
) -> Array:
    """(Σ |x|ᵖ)^(1/p); the largest |x| for p = ∞, the smallest for −∞, the number of non-zero ones for 0."""
    low = self.dtype.itemsize == 2 and self.dtype.kind != "i"
    if self.dtype.kind in "biu":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {type_name(self)}"
        )
    target = self.real.dtype if dtype is None else dtype.numpy
    if dtype is not None and dtype.is_complex:
        target = xp.zeros((), target).real.dtype
    if dtype is not None:
        self = self.astype(dtype.numpy)
    elif low:
        self = self.astype("f4")
    axes = dims_of(dim, self.ndim)
    p = float(ord)
    if not self.size and (p < 0 or math.isinf(p)):
        _check_identity(self.shape, ord, None if dim is None else axes)
    if p == 2 and len(axes) == self.ndim and self.dtype.kind == "f" and self.flags.c_contiguous:
        flat = self.reshape(-1)
        result = xp.sqrt(xp.dot(flat, flat))
        return xp.asarray(result.reshape((1,) * self.ndim) if keepdim else result, target)
    size = xp.abs(self)
    if p == 0:
        result = (self != 0).sum(axis=axes, keepdims=keepdim)
    elif p == 1:
        result = size.sum(axis=axes, keepdims=keepdim)
    elif p == 2:
        result = xp.sqrt((size * size).sum(axis=axes, keepdims=keepdim))
    elif math.isinf(p):
        result = (size.max if p > 0 else size.min)(axis=axes, keepdims=keepdim)
    else:
        result = (size**p).sum(axis=axes, keepdims=keepdim) ** (1 / p)
    return xp.asarray(result, target)


@composite(variants="function out", namespace="linalg", autocast_on_gpu="float32 results")
def norm(input: Tensor, ord: Any = None, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of a vector or matrix: `vector_norm`, or `matrix_norm` where `ord` asks for it."""
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if input.dim() not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.dim()}D."
            )
        dim = tuple(range(input.dim()))
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) == 1:
        return vector_norm(input, ord, dims, keepdim, dtype=dtype)
    return matrix_norm(input, ord, dims, keepdim, dtype=dtype)


@composite(variants="function out", namespace="linalg", autocast_on_gpu="float32 results")
def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """√Σ|x|² ("fro"), Σσ ("nuc"), the largest or smallest σ (±2), or the extreme sum of a column (±1) or row (±∞)."""
    if input.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        given = " ".join(map(str, dim)) if isinstance(dim, (tuple, list)) else dim
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {given}")
    row, column = (d % input.dim() for d in dim)
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if dtype is not None:
        input = input.to(dtype)
    if ord == "fro":
        return vector_norm(input, 2, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        order = [*(d for d in range(input.dim()) if d not in (row, column)), row, column]
        values = svdvals(input.permute(order))
        result = values.sum(-1, keepdim) if ord == "nuc" else _extreme(values, -1, keepdim, largest=ord > 0)
        return result.unsqueeze(-1).permute([order.index(d) for d in range(input.dim())]) if keepdim else result
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, extreme = (row, column) if abs(ord) == 1 else (column, row)
    sums = vector_norm(input, 1, summed, keepdim)
    return _extreme(sums, extreme - (not keepdim and summed < extreme), keepdim, largest=ord > 0)


def _extreme(sizes: Tensor, dim: int, keepdim: bool, largest: bool) -> Tensor:
    """The largest, which of none is 0, or the smallest."""
    if not largest:
        return sizes.amin(dim, keepdim)
    return sizes.amax(dim, keepdim) if sizes.shape[dim] else sizes.sum(dim, keepdim)


def _others(dim: int, ndim: int) -> tuple[int, ...]:
    return tuple(d for d in range(ndim) if d != check_dim(dim, ndim))


_TINY = 1e-7  # added to norms that divide


def _renorm_gradient(grad: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    dims = _others(dim, self.dim())
    if self.dtype.is_low_precision:
        grad, self = grad.float(), self.float()
    size = vector_norm(self, p, dims, True)
    along = grad * conj(self)
    along = (along.real if self.is_complex() else along).sum(dims, keepdim=True)
    inverse = (size + _TINY).reciprocal()
    shrunk = (grad - inverse * _vector_norm_gradient(along, self, p, dims, True, size)) * inverse * maxnorm
    return grad.where(size <= maxnorm, shrunk)


@declare(variants="function method inplace out", derivatives={"self": _renorm_gradient}, autocast_on_gpu="float32")
def renorm(xp: Any, self: Array, p: float, dim: int, maxnorm: float) -> Array:
    """The slices along `dim`, those whose p-norm exceeds maxnorm scaled down to it; the shape and dtype of `input`."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    wide = self.astype("float32") if FROM_NUMPY[self.dtype].is_low_precision else self
    size = OPS["vector_norm"].kernel(xp, wide, p, _others(dim, self.ndim), True, None)
    factor = xp.where(size > maxnorm, maxnorm / (size + _TINY), 1).astype(self.dtype)
    return xp.ascontiguousarray(self * factor)
