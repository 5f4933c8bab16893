"""Views: the same storage, other strides. And writes, which all views of a storage see."""

# 03 · Views and layout
from __future__ import annotations

from typing import Any

from . import words
from .arrays import move
from .checks import refuse
from .creation import clone, full, one_tuple
from .dispatch import Function, Operation, method
from .pointwise import OPERATORS, abs, ceil, exp, floor, log, masked_fill, neg, round, rsqrt, sigmoid, sqrt, tanh
from .promotion import category
from .settings import TYPE_NAMES, dtype
from .strides import Ints, count_of, infer_size, normalize_dim, normalize_dims, view_strides
from .tensor import Tensor, extend

Geometry = tuple[Ints, Ints, int]
"""Sizes, strides and offset: all that tells one view of a storage from another."""


def view_op(kernel: Function) -> Operation:
    """Declare an operation whose kernel takes the tensor itself and returns a view's geometry."""
    return Operation(kernel, run_as_view)


def run_as_view(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """A tensor on the same storage, with the geometry that the kernel gives."""
    x, *others = args
    size, stride, offset = op.kernel(x, *others)
    view = Tensor(x.storage, size, stride, offset)
    view.base = x if x.base is None else x.base
    view.rebased = view.base.rebased
    if x.one_of_several:
        view.one_of_several = (op.name, 0)
    return view


# Of a view: the tensor that it was first taken of; and, for chapter 07, which function made it beside others, such as
# `split`, with its place among them. Of both: how often a write has changed the history of the base.
extend(Tensor, base=None, one_of_several=None, rebased=0)


@view_op
def as_strided(x: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None) -> Geometry:
    """Any strided view of the storage of `x`; it starts where `x` does if no offset is given."""
    refuse(len(size) != len(stride), "mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    offset = x.offset if storage_offset is None else storage_offset
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if count_of(size) and last >= len(x.storage):
        item = x.dtype.itemsize
        sizes = f"sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item}"
        needed = f"a storage size of {(last + 1) * item} are out of bounds for storage of size {len(x.storage) * item}"
        raise RuntimeError(f"setStorage: {sizes} requiring {needed}")
    return size, stride, offset


@view_op
def transpose(x: Tensor, dim0: int, dim1: int) -> Geometry:
    """Exchange two dimensions: their lengths and their strides. Returns (sizes, strides, offset)."""
    first, second = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    if x.ndim:
        size[first], size[second] = size[second], size[first]
        stride[first], stride[second] = stride[second], stride[first]
    return tuple(size), tuple(stride), x.offset


@view_op
def permute(x: Tensor, dims: tuple[int, ...]) -> Geometry:
    """The dimensions in another order: dimension i of the result is dimension `dims[i]` of `x`."""
    if len(dims) != x.ndim:
        wanted = "the length of the desired ordering of dimensions"
        found = f"does not match {wanted} i.e. input.dim() = {x.ndim} is not equal to len(dims) = {len(dims)}"
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input {found}")
    order = [normalize_dim(dim, x.ndim) for dim in dims]
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return tuple(x.shape[dim] for dim in order), tuple(x.strides[dim] for dim in order), x.offset


@view_op
def expand(x: Tensor, size: tuple[int, ...]) -> Geometry:
    """Dimensions of length 1 as if repeated: a stride of 0 stays where it is."""
    added = len(size) - x.ndim
    if added < 0:
        raise words.too_few_sizes(x, size)
    sizes: list[int] = []
    strides: list[int] = []
    for dim in reversed(range(len(size))):
        if dim >= added:
            length, step = x.shape[dim - added], x.strides[dim - added]
        else:
            length, step = 1, sizes[0] * strides[0] if sizes else 0  # the stride of `unsqueeze`, as in PyTorch
        wanted = length if size[dim] == -1 and dim >= added else size[dim]
        if wanted == -1:
            raise words.nothing_to_keep(dim)
        if wanted != length and length != 1:
            raise words.not_stretchable(x, size, dim)
        sizes.insert(0, wanted)
        strides.insert(0, step if wanted == length else 0)
    return tuple(sizes), tuple(strides), x.offset


@view_op
def squeeze(x: Tensor, dim: int | tuple[int, ...] | None = None) -> Geometry:
    """Leave out dimensions of length 1: all of them if `dim` is None, else those named."""
    named = () if dim == () else normalize_dims(dim, x.ndim)
    kept = [each for each in range(x.ndim) if x.shape[each] != 1 or each not in named]
    return tuple(x.shape[each] for each in kept), tuple(x.strides[each] for each in kept), x.offset


@view_op
def unsqueeze(x: Tensor, dim: int) -> Geometry:
    """A new dimension of length 1 at place `dim`; its stride is the number of elements that a step would pass."""
    place = normalize_dim(dim, x.ndim + 1)
    step = x.shape[place] * x.strides[place] if place < x.ndim else 1
    return (*x.shape[:place], 1, *x.shape[place:]), (*x.strides[:place], step, *x.strides[place:]), x.offset


@view_op
def select(x: Tensor, dim: int, index: int) -> Geometry:
    """One place along a dimension, which goes: `x[index]` along dimension 0."""
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    start = x.offset + index % x.shape[dim] * x.strides[dim]
    return (*x.shape[:dim], *x.shape[dim + 1 :]), (*x.strides[:dim], *x.strides[dim + 1 :]), start


@view_op
def slice(x: Tensor, dim: int, start: int, end: int, step: int = 1) -> Geometry:
    """The places start, start + step, … below `end` along a dimension: `x[start:end:step]` along dimension 0."""
    dim = normalize_dim(dim, x.ndim)
    length = max(0, -((start - end) // step))
    size = (*x.shape[:dim], length, *x.shape[dim + 1 :])
    stride = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :])
    return size, stride, x.offset + start * x.strides[dim]


@view_op
def view(x: Tensor, size: tuple[int, ...]) -> Geometry:
    """The elements in another shape, without moving them. One length may be -1."""
    sizes = infer_size(tuple(size), x.numel())
    strides = view_strides(x.shape, x.strides, sizes)
    if strides is None:
        why = "(at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        raise RuntimeError(f"view size is not compatible with input tensor's size and stride {why}")
    return sizes, strides, x.offset


@method
def reshape(x: Tensor, *size: Any) -> Tensor:
    """The elements in another shape: a view where strides allow it, else of a copy."""
    sizes = infer_size(one_tuple(size), x.numel())
    if view_strides(x.shape, x.strides, sizes) is None:
        return unshared(view(clone(x), sizes))
    return view(x, sizes)


def unshared(x: Tensor) -> Tensor:
    """A view of a copy that nobody else knows, taken for a tensor of its own."""
    x.base = None
    return x


@method
def contiguous(x: Tensor) -> Tensor:
    """The tensor itself if its elements lie row by row, else a copy in which they do."""
    return x if x.is_contiguous() else clone(x)


@method
def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one; the tensor itself if that changes nothing."""
    start, end = normalize_dim(start_dim, x.ndim), normalize_dim(end_dim, x.ndim)
    refuse(start > end, "flatten() has invalid args: start_dim cannot come after end_dim")
    if x.ndim and start == end:
        return x
    return reshape(x, (*x.shape[:start], count_of(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@method
def repeat(x: Tensor, *times: Any) -> Tensor:
    """A new tensor with as many copies of `x` along each dimension. (`expand` takes no memory, `repeat` does.)"""
    counts = one_tuple(times)
    if len(counts) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(counts) - x.ndim) + tuple(x.shape)
    interleaved = tuple(each for pair in zip(counts, shape, strict=True) for each in pair)
    ones = tuple(each for length in shape for each in (1, length))
    whole = tuple(count * length for count, length in zip(counts, shape, strict=True))
    return unshared(view(clone(expand(view(clone(x), ones), interleaved)), whole))


@method
def t(x: Tensor) -> Tensor:
    """The transposed matrix; a vector or a number as it is."""
    refuse(x.ndim > 2, f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return transpose(x, 0, x.ndim - 1)


extend(
    Tensor,
    view=lambda x, *size: view(x, one_tuple(size)),  # the lengths one by one, too: x.view(2, 3)
    permute=lambda x, *dims: permute(x, one_tuple(dims)),
    expand=lambda x, *size: expand(x, one_tuple(size)),
    view_as=lambda x, other: view(x, other.shape),
    expand_as=lambda x, other: expand(x, other.shape),
    T=property(lambda x: permute(x, tuple(reversed(range(x.ndim))))),
    mT=property(lambda x: transpose(x, -2, -1)),
    _version=property(lambda x: x.storage.version),
    _is_view=lambda x: x.base is not None,
)


def write(x: Tensor, values: Any) -> None:
    """Overwrite the elements of a tensor with an array or a number, and count the write."""
    if x.numel() and any(step == 0 and length > 1 for length, step in zip(x.shape, x.strides, strict=True)):
        raise words.shared_places()
    x.array[...] = values
    x.storage.version += 1


def run_write(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Run a kernel that takes the tensor to be overwritten first; it is the result."""
    op.kernel(*args)
    written: Tensor = args[0]
    return written


copy_ = Operation(lambda x, source: write(x, move(source.array, x.device)), run_write, "copy_", writes=True)


def in_place(op: Function, name: str) -> Function:
    """The function that does `op` in place: `in_place(add, "add_")(x, 1)` is `x.add_(1)`."""

    def overwrite(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = op(x, *args, **kwargs)
        if result.shape != x.shape:
            raise words.wrong_result(x, result)
        check_fits(result.dtype, x.dtype)
        return copy_(x, result)

    overwrite.__name__ = name
    return overwrite


def check_fits(result: dtype, target: dtype) -> None:
    """Refuse to write floating-point numbers into integers, or numbers into booleans."""
    if category(result) > category(target):
        found = [TYPE_NAMES[each.name] for each in (result, target)]
        raise RuntimeError(f"result type {found[0]} can't be cast to the desired output type {found[1]}")


for _name, _op in OPERATORS.items():
    setattr(Tensor, f"__i{_name}__", in_place(_op, f"__i{_name}__"))
    setattr(Tensor, f"{_op.name}_", in_place(getattr(Tensor, _op.name), f"{_op.name}_"))
for _op in (abs, ceil, exp, floor, log, masked_fill, neg, round, rsqrt, sigmoid, sqrt, tanh):
    setattr(Tensor, f"{_op.name}_", in_place(_op, f"{_op.name}_"))


@method
def fill_(x: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one number, in an expanded tensor too, since all elements get the same."""
    places = x
    for dim, step in enumerate(x.strides):
        if step == 0:
            places = slice(places, dim, 0, min(x.shape[dim], 1))
    copy_(places, expand(full((), value, dtype=x.dtype, device=x.device), places.shape))
    return x


@method
def zero_(x: Tensor) -> Tensor:
    """Overwrite every element with 0."""
    return fill_(x, 0)
