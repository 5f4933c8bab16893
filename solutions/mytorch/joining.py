"""Tensors put together, and taken apart into views."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from functools import reduce, wraps
from typing import Any

import numpy as np

from . import views, words
from .creation import one_tuple
from .dispatch import Function, Operation, arrays_of, method, operation
from .promotion import promote_types
from .strides import normalize_dim, normalize_dims
from .tensor import Tensor, from_array


def run_cat(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Join the arrays in the type that holds the values of all."""
    tensors, dim = args
    check_listed(tensors)
    tensors = [each for each in tensors if each.shape != (0,)] or tensors[:1]  # an empty vector goes with any shape
    common = reduce(promote_types, (each.dtype for each in tensors))
    dim = normalize_dim(dim, tensors[0].ndim)
    check_sizes(tensors, dim)
    return from_array(op.kernel([each.astype(common.numpy, copy=False) for each in arrays_of(list(tensors))], dim))


def _cat(tensors: Any, dim: int = 0) -> Any:
    """The tensors one after the other along a dimension that they have."""
    return np.concatenate(tensors, dim)


cat = Operation(_cat, run_cat, "cat")


def check_listed(tensors: Any) -> None:
    """Refuse to join nothing, or tensors without dimensions."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for number, each in enumerate(tensors):
        if each.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {number}) cannot be concatenated")


def check_sizes(tensors: list[Tensor], dim: int) -> None:
    """Refuse to join tensors that differ along another dimension than `dim`.

    Raises:
        RuntimeError: names the dimension and the first tensor that does not fit.
    """
    first = tensors[0]
    for number, each in enumerate(tensors):
        if each.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {each.ndim}")
        for place, (length, wanted) in enumerate(zip(each.shape, first.shape, strict=True)):
            if place != dim and length != wanted:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {wanted} but got size "
                    f"{length} for tensor number {number} in the list."
                )


def stack(tensors: list[Tensor] | tuple[Tensor, ...], dim: int = 0) -> Tensor:
    """Tensors of one shape side by side, along a new dimension `dim`; -1 is the last of the result.

    `cat` is there, and so is `views.unsqueeze`.

    Raises:
        IndexError: the result has no such dimension (`normalize_dim`).
        RuntimeError: there are no tensors (`words.nothing_to_stack()`), or one has another shape than the
            first (`words.unequal_to_stack(tensors, number)`).
    """
    if not tensors:
        raise words.nothing_to_stack()
    for number, each in enumerate(tensors):
        if each.shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, number)
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    return cat([views.unsqueeze(each, dim) for each in tensors], dim)


def several_views(function: Function) -> Function:
    """Note in each of the views that a call returns that it is one of several.

    While autograd records, PyTorch refuses to write to such a view (chapter 07).
    """

    @wraps(function)
    def call(x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        found: tuple[Tensor, ...] = function(x, *args, **kwargs)
        sizes = any(isinstance(each, (list, tuple)) for each in (*args, *kwargs.values()))
        for place, part in enumerate(found):
            part.one_of_several = (function.__name__ + ("_with_sizes" if sizes else ""), place)
        return found

    return call


@method
@several_views
def split(x: Tensor, split_size: int | list[int] | tuple[int, ...], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the parts of a dimension: of `split_size` places each, or of the lengths listed.

    If `split_size` is a number, the last part may have fewer places, and a dimension of length 0
    has one part. `check_split(x, split_size, dim)` raises the errors. `views.slice(x, dim, start,
    end)` is a view of the places from `start` up to `end`; unlike square brackets, it doesn't cut
    an `end` beyond the length.
    """
    dim = normalize_dim(dim, x.ndim)
    check_split(x, split_size, dim)
    length = x.shape[dim]
    if isinstance(split_size, int):
        starts = range(0, max(length, 1), max(split_size, 1))
        sizes = [min(split_size, length - start) for start in starts]
    else:
        sizes = list(split_size)
    parts, start = [], 0
    for size in sizes:
        parts.append(views.slice(x, dim, start, start + size))
        start += size
    return tuple(parts)


def check_split(x: Tensor, split_size: int | list[int] | tuple[int, ...], dim: int) -> None:
    """Refuse to split a tensor without dimensions, or into parts that don't make up the dimension."""
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    length = x.shape[dim]
    if isinstance(split_size, int):
        if split_size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
        if split_size == 0 and length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
        return
    sizes = list(split_size)
    if sum(sizes) != length:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={sizes}"
        )
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )


@method
def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views, of equal size but for a smaller last one. There may be fewer: 6 in 4 chunks are 3 pairs.

    Raises:
        RuntimeError: `chunks` is not above 0, or there is no dimension.
    """
    if not x.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = x.shape[normalize_dim(dim, x.ndim)]
    return split(x, -(-length // chunks) if length else [0] * chunks, dim)


@method
@several_views
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """A view for each place along a dimension, which goes."""
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return tuple(views.select(x, dim, place) for place in range(x.shape[normalize_dim(dim, x.ndim)]))


@operation
def flip(x: Any, dims: tuple[int, ...]) -> Any:
    """A copy in the opposite order along these dimensions. (Strides can't be negative in PyTorch, so it is no view.)"""
    return np.flip(x, normalize_dims(dims, x.ndim)).copy()


Tensor.flip = lambda x, *dims: flip(x, one_tuple(dims))


@operation
def tril(x: Any, diagonal: int = 0) -> Any:
    """A copy with zeros above the diagonal, or above the one that lies `diagonal` places to the right of it."""
    check_matrix("tril", x)
    return np.tril(x, diagonal)


@operation
def triu(x: Any, diagonal: int = 0) -> Any:
    """A copy with zeros below the diagonal."""
    check_matrix("triu", x)
    return np.triu(x, diagonal)


def check_matrix(name: str, x: Any) -> None:
    """Refuse what has no rows and columns."""
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
