"""Ops that put tensors together.

Source: https://pytorch.org/docs/stable/torch.html#indexing-slicing-joining-mutating-ops
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import FROM_NUMPY, promote_types
from minitorch.layout import contiguous_format, laid_out, suggested_format
from minitorch.ops.creation.filled import empty
from minitorch.ops.views.broadcasting import expand
from minitorch.ops.views.shape import atleast_1d, atleast_2d, atleast_3d, reshape, strided, viewed
from minitorch.size import check_dim
from minitorch.tensor import Tensor


def _skipped(shape: tuple[int, ...]) -> bool:
    """Whether `cat` passes over a tensor of this shape: PyTorch's exception for 1-D tensors without elements."""
    return shape == (0,)


def _cat_backward(grad: Tensor, tensors_shape: list[tuple[int, ...]], dim: int) -> list[Tensor]:
    """What each tensor contributed, cut out of the gradient."""
    dim %= grad.dim()
    grads, start = [], 0
    for shape in tensors_shape:
        if _skipped(shape) and grad.dim() > 1:
            grads.append(grad.new_zeros(0))
        else:
            grads.append(grad.narrow(dim, start, shape[dim]))
            start += shape[dim]
    return grads


@declare(
    autocast="widest",
    no_tensors="torch.cat(): expected a non-empty list of Tensors",
    out_type=CASTS,
    variants="function out",
    aliases="concat concatenate",
    derivatives={"tensors": _cat_backward},
    autocast_on_gpu="",
)
def cat(xp: Any, tensors: Sequence[Array], dim: int = 0) -> Array:
    """The tensors one behind the other along `dim`: sizes (a, n) and (b, n) give (a + b, n) for dim 0.

    The result is of the common dtype. Raises RuntimeError where other sizes differ (but for empty vectors), and for an
    empty list ValueError.
    """
    for position, each in enumerate(tensors):
        if not each.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    first = next((each for each in tensors if not _skipped(each.shape)), tensors[0])
    dim = check_dim(dim, first.ndim)
    for position, each in enumerate(tensors):
        if _skipped(each.shape):
            continue
        if each.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {each.ndim}")
        for d, (expected, got) in enumerate(zip(first.shape, each.shape, strict=True)):
            if expected != got and d != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got "
                    f"size {got} for tensor number {position} in the list."
                )
    return _joined(xp, tensors, dim)


def _joined(xp: Any, arrays: Sequence[Array], dim: int) -> Array:
    """One behind the other in their common dtype, in the memory format that all of them have; else row by row."""
    formats = {suggested_format(each) for each in arrays}
    format = formats.pop() if len(formats) == 1 else contiguous_format
    common = functools.reduce(promote_types, (FROM_NUMPY[each.dtype] for each in arrays)).numpy
    present = [each for each in arrays if not _skipped(each.shape)] or arrays
    return laid_out(xp, xp.concatenate(present, axis=dim, dtype=common, casting="unsafe"), format)


@declare(
    autocast="widest",
    out_type=CASTS,
    variants="function out",
    derivatives={"tensors": lambda grad, dim: list(grad.unbind(dim))},
    autocast_on_gpu="",
)
def stack(xp: Any, tensors: Sequence[Array], dim: int = 0) -> Array:
    """The tensors side by side along a new dimension."""
    shape = tensors[0].shape
    for position, each in enumerate(tensors):
        if each.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(each.shape)} "
                f"at entry {position}"
            )
    dim = check_dim(dim, len(shape) + 1)
    if dim == len(shape):
        columns = [strided(xp, each, (*each.shape, 1), (*each.strides, each.itemsize)) for each in tensors]
        return _joined(xp, columns, dim)
    return viewed(xp, _joined(xp, tensors, dim), (*shape[:dim], len(tensors), *shape[dim:]))


@composite(variants="function")
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the second dimension, 1-D tensors along their only one."""
    _check_any(tensors, "hstack")
    rows = atleast_1d(tuple(tensors))
    return cat(rows, 0 if rows[0].dim() == 1 else 1, out=out)


@composite(variants="function", aliases="row_stack")
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the first dimension; 1-D tensors are rows."""
    _check_any(tensors, "vstack")
    return cat(atleast_2d(tuple(tensors)), 0, out=out)


@composite(variants="function")
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the third dimension."""
    _check_any(tensors, "dstack")
    return cat(atleast_3d(tuple(tensors)), 2, out=out)


@composite(variants="function")
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Joined along the second dimension; 1-D tensors are columns."""
    _check_any(tensors, "column_stack")
    return cat([each if each.dim() > 1 else reshape(each, each.numel(), 1) for each in tensors], 1, out=out)


def _check_any(tensors: Sequence[Tensor], name: str) -> None:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


def _block_diag_backward(grad: Tensor, tensors_shape: list[tuple[int, ...]]) -> list[Tensor]:
    """The blocks cut out of the gradient, each in the shape that its tensor had."""
    grads, row, column = [], 0, 0
    for shape in tensors_shape:
        rows, columns = (1, 1, *shape)[-2:]
        block = grad.narrow(0, row, rows).narrow(1, column, columns)
        grads.append(reshape(block, shape))
        row, column = row + rows, column + columns
    return grads


@declare(
    promotion="keep",
    variants="",
    node="BlockDiagBackward0",
    derivatives={"tensors": _block_diag_backward},
)
def block_diagonal(xp: Any, tensors: Sequence[Array]) -> Array:
    for position, each in enumerate(tensors):
        if each.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has {each.ndim} "
                "dimensions"
            )
    blocks = [each.reshape((1, 1, *each.shape)[-2:]) for each in tensors]
    result = xp.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), tensors[0].dtype)
    row = column = 0
    for block in blocks:
        rows, columns = block.shape
        result[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return result


@composite(variants="function")
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along the diagonal of one that is zero elsewhere; of none, a matrix of size (1, 0)."""
    return block_diagonal(tensors) if tensors else empty(1, 0)


@composite(variants="function")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one element of each vector, a row each: (n,), (m,) → (n · m, 2); of one vector, itself.

    Raises RuntimeError for tensors that aren't vectors.
    """
    for each in tensors:
        if each.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(each.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    sizes = [each.numel() for each in tensors]
    grids = [
        reshape(expand(reshape(each, [-1 if d == i else 1 for d in range(len(sizes))]), sizes), -1)
        for i, each in enumerate(tensors)
    ]
    return stack(grids, 1)
