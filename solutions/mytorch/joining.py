"""Tensors put together, and taken apart into views."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from functools import reduce, wraps
from typing import Any

import numpy as np

from . import promote_types, views, words
from .checks import refuse
from .creation import one_tuple
from .dispatch import Function, Operation, arrays_of, composite, method, operation, run_on_arrays
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


cat = Operation(lambda tensors, dim=0: np.concatenate(tensors, dim), run_cat, "cat")
"""The tensors one after the other along a dimension that they have."""


def check_listed(tensors: Any) -> None:
    """Refuse to join nothing, or tensors without dimensions."""
    refuse(not tensors, "torch.cat(): expected a non-empty list of Tensors", ValueError)
    for number, each in enumerate(tensors):
        refuse(each.ndim == 0, f"zero-dimensional tensor (at position {number}) cannot be concatenated")


def check_sizes(tensors: list[Tensor], dim: int) -> None:
    """Refuse to join tensors that differ along another dimension than `dim`."""
    first = tensors[0]
    for number, each in enumerate(tensors):
        if each.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {each.ndim}")
        for place, (length, wanted) in enumerate(zip(each.shape, first.shape, strict=True)):
            if place != dim and length != wanted:
                found = f"Expected size {wanted} but got size {length} for tensor number {number} in the list."
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. {found}")


@composite
def stack(tensors: list[Tensor] | tuple[Tensor, ...], dim: int = 0) -> Tensor:
    """Tensors of one shape side by side, along a new dimension `dim`; -1 is the last of the result."""
    if not tensors:
        raise words.nothing_to_stack()
    for number, each in enumerate(tensors):
        if each.shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, number)
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    return cat([views.unsqueeze(each, dim) for each in tensors], dim)


def several_views(function: Function) -> Function:
    """Note in each of the views that a call returns that it is one of several: none to be written to in chapter 07."""

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
    """Views of the parts of a dimension: of `split_size` places each, or of the lengths listed."""
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
    refuse(not x.ndim, "split expects at least a 1-dimensional tensor")
    length = x.shape[dim]
    if isinstance(split_size, int):
        refuse(split_size < 0, f"split expects split_size be non-negative, but got split_size={split_size}")
        if split_size == 0 and length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
        return
    sizes, wanted = list(split_size), ""
    if sum(sizes) != length:
        wanted = f"to sum exactly to {length} (input tensor's size at dimension {dim})"
    elif min(sizes, default=0) < 0:
        wanted = "have only non-negative entries"
    refuse(wanted, f"split_with_sizes expects split_sizes {wanted}, but got split_sizes={sizes}")


@method
def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views, of equal size but for a smaller last one. 6 in 4 chunks are 3 pairs."""
    refuse(not x.ndim, "chunk expects at least a 1-dimensional tensor")
    refuse(chunks <= 0, f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = x.shape[normalize_dim(dim, x.ndim)]
    return split(x, -(-length // chunks) if length else [0] * chunks, dim)


@method
@several_views
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """A view for each place along a dimension, which goes."""
    refuse(not x.ndim, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    return tuple(views.select(x, dim, place) for place in range(x.shape[normalize_dim(dim, x.ndim)]))


@operation
def flip(x: Any, dims: tuple[int, ...]) -> Any:
    """A copy in the opposite order along these dimensions. (Strides can't be negative in PyTorch, so it is no view.)"""
    return np.flip(x, normalize_dims(dims, x.ndim)).copy()


Tensor.flip = lambda x, *dims: flip(x, one_tuple(dims))


def triangle(function: Function, name: str) -> Operation:
    """The operation that copies what lies on one side of a diagonal, so many places to the right of the main one."""

    def kernel(x: Any, diagonal: int = 0) -> Any:
        refuse(x.ndim < 2, f"{name}: input tensor must have at least 2 dimensions")
        return function(x, diagonal)

    return Operation(kernel, run_on_arrays, name)


tril, triu = triangle(np.tril, "tril"), triangle(np.triu, "triu")
