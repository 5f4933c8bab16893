"""What square brackets do: views for numbers and slices, copies for lists, tensors and masks."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from operator import index as to_int
from types import EllipsisType
from typing import Any

import numpy as np

from . import tensor, views, words
from .broadcasting import broadcast_tensors, shape_of_all
from .checks import refuse
from .dispatch import method, operation
from .settings import TYPE_NAMES, bool_, int32, int64, uint8
from .strides import normalize_dim
from .tensor import Tensor, on_host

Indices = tuple[Tensor | None, ...]
"""For each dimension a tensor of indices, or None for all of it. Missing ones at the end are None, too."""


@operation
def index(x: Any, indices: Indices) -> Any:
    """A copy of the elements at these places. NumPy does what PyTorch does, once numbers are out of the way."""
    return x[places(indices)].copy()


@operation
def index_put(x: Any, indices: Indices, values: Any) -> Any:
    """A copy of `x` with `values` at these places. Where a place is named twice, one of its values is there."""
    result = x.copy()
    try:
        result[places(indices)] = values
    except ValueError:
        found = f"cannot be broadcast to indexing result of shape {list(x[places(indices)].shape)}"
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(np.shape(values))} {found}") from None
    return result


@operation
def unindex(grad: Any, size: tuple[int, ...], indices: Indices) -> Any:
    """The backward of `index`: zeros, to which each element of `grad` is added where it came from."""
    result = np.zeros_like(grad, shape=size)
    np.add.at(result, places(indices), grad)
    return result


def places(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index as NumPy writes it: a whole slice where nothing was asked for."""
    return tuple(slice(None) if each is None else each for each in indices)


def getitem(x: Tensor, items: Any) -> Tensor:
    """`x[items]`: a view for numbers, slices, None and `...`; a copy for a list, tensor or mask."""
    seen, pending = take_views(x, one_by_one(items, x.ndim))
    if indices := indices_of(seen, pending):
        return index(seen, indices)
    return views.view(x, x.shape) if seen is x else seen


def setitem(x: Tensor, items: Any, value: Any) -> None:
    """`x[items] = value`: a write into the view, of the value expanded to its shape."""
    if isinstance(value, (list, tuple, np.ndarray)):
        kind = "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__
        raise TypeError(f"can't assign a {kind} to a {words.type_name(x.dtype)}")
    seen, pending = take_views(x, one_by_one(items, x.ndim))
    values = value if isinstance(value, Tensor) else tensor(value, dtype=x.dtype, device=x.device)
    if indices := indices_of(seen, pending):
        if values.dtype is not x.dtype:
            own, other = (TYPE_NAMES[each.dtype.name] for each in (x, values))
            found = f"got {own} for the destination and {other} for the source."
            raise RuntimeError(f"Index put requires the source and destination dtypes match, {found}")
        views.copy_(seen, index_put(seen, indices, values))
    else:
        surplus = [dim for dim in range(values.ndim - seen.ndim) if values.shape[dim] == 1]
        views.copy_(seen, views.expand(views.squeeze(values, tuple(surplus)) if surplus else values, seen.shape))


Tensor.__getitem__ = getitem
Tensor.__setitem__ = setitem


def one_by_one(items: Any, ndim: int) -> list[Any]:
    """The items of an index of a tensor with `ndim` dimensions, each made `plain`."""
    found = [plain(each) for each in (items if isinstance(items, tuple) else (items,))]
    if sum(map(dims_taken, found)) <= ndim:
        return found
    if len(found) > 1 or isinstance(found[0], Tensor):
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    refuse(isinstance(found[0], slice), "slice() cannot be applied to a 0-dim tensor.", IndexError)
    advice = "Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
    raise IndexError(f"invalid index of a 0-dim tensor. {advice}")


def plain(item: Any) -> Any:
    """An item as a number, slice, None, `...` or tensor: lists become tensors, tensors without dimensions numbers."""
    if isinstance(item, (list, tuple, range, np.ndarray)):
        return tensor(list(item) if isinstance(item, range) else item, dtype=None if len(item) else int64)
    if isinstance(item, Tensor):
        return int(item) if item.ndim == 0 and item.dtype in (int64, int32) else item
    if item is None or isinstance(item, (slice, EllipsisType)):
        return item
    if isinstance(item, bool):
        return tensor(item)
    if not hasattr(item, "__index__"):
        valid = "integers, slices (`:`), ellipsis (`...`), None and long or byte Variables"
        raise IndexError(f"only {valid} are valid indices (got {type(item).__name__})")
    return to_int(item)


def dims_taken(item: Any) -> int:
    """How many dimensions an item of an index is about: none for None and `...`, those of a mask, else one."""
    if item is None or isinstance(item, EllipsisType):
        return 0
    return item.ndim if isinstance(item, Tensor) and item.dtype in (bool_, uint8) else 1


def take_views(x: Tensor, items: list[Any]) -> tuple[Tensor, Indices]:
    """Do what views can do, item by item, and keep what is left."""
    missing = x.ndim - sum(map(dims_taken, items))
    pending: list[Tensor | None] = []
    for position, item in enumerate(items):
        dim = len(pending)
        if item is None:
            x = views.unsqueeze(x, dim)
            pending.append(None)
        elif isinstance(item, EllipsisType):
            pending += [None] * missing
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            x = views.slice(x, dim, start, end, step)
            pending.append(None)
        elif isinstance(item, int):
            x = pick(x, dim, item, position)
        else:
            x, waiting = set_aside(x, dim, item)
            pending += waiting
    return x, tuple(pending)


def slice_bounds(item: slice, length: int) -> tuple[int, int, int]:
    """Start, end and step of a slice of a dimension of this length."""
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start, end, step = item.indices(length)
    return start, max(start, end), step


def pick(x: Tensor, dim: int, number: int, position: int) -> Tensor:
    """The place with this number along a dimension. An error names the position of the number in the index."""
    if not -x.shape[dim] <= number < x.shape[dim]:
        raise IndexError(f"index {number} is out of bounds for dimension {position} with size {x.shape[dim]}")
    return views.select(x, dim, number)


def set_aside(x: Tensor, dim: int, item: Tensor) -> tuple[Tensor, list[Tensor | None]]:
    """What to keep of a tensor in an index: itself, and None for each further dimension of a mask."""
    if item.dtype not in (bool_, uint8):
        return x, [item]
    if item.ndim == 0:  # True or False is about a new dimension of length 1
        x, item = views.unsqueeze(x, dim), views.unsqueeze(item, 0)
    return x, [item, *[None] * (item.ndim - 1)]


def indices_of(x: Tensor, pending: Indices) -> Indices:
    """`pending` with tensors of indices in place of masks: one for each dimension of a mask. Empty without tensors."""
    if any(each is not None for each in pending[x.ndim :]):
        raise IndexError(f"too many indices for tensor of dimension {x.ndim} (got {len(pending)})")
    indices = list(pending)
    for dim, item in enumerate(pending):
        if item is None or item.dtype in (int64, int32):
            continue
        if item.dtype not in (bool_, uint8):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        check_mask(item, x, dim)
        found = nonzero(item)
        indices[dim : dim + item.ndim] = [views.select(found, 1, each) for each in range(item.ndim)]
    tensors = [each for each in indices if each is not None]
    check_indices(tensors, [length for each, length in zip(indices, x.shape, strict=False) if each is not None])
    return tuple(indices) if tensors else ()


def check_mask(mask: Tensor, x: Tensor, dim: int) -> None:
    """Refuse a mask of another shape than the dimensions of `x` from `dim` on."""
    for each, length in enumerate(mask.shape):
        if length != x.shape[dim + each]:
            wanted = f"the shape of the indexed tensor {list(x.shape)} at index {dim + each}"
            raise IndexError(f"The shape of the mask {list(mask.shape)} at index {each} does not match {wanted}")


def check_indices(tensors: list[Tensor], lengths: list[int]) -> None:
    """Refuse tensors of indices that can't be broadcast against each other, or leave their dimensions."""
    try:
        shape_of_all(*tensors)
    except RuntimeError:
        shapes = ", ".join(str(list(each.shape)) for each in tensors)
        told = f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        raise IndexError(told) from None
    # An error names the tensor's number, 0 in `x[:, [9]]`, as PyTorch does.
    for number, (each, length) in enumerate(zip(tensors, lengths, strict=True)):
        check_range(on_host(each), -length, length, number, IndexError)


def check_range(indices: Any, lowest: int, length: int, dim: int, error: type[Exception]) -> None:
    """Refuse indices below `lowest`, or not below the length of a dimension."""
    wrong = indices[(indices < lowest) | (indices >= length)]
    if wrong.size and length == 0 and error is IndexError:
        raise IndexError("index is out of bounds for dimension with size 0")
    if wrong.size:
        raise error(f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {length}")


@operation
def nonzero(x: Any) -> Any:
    """Where the elements other than zero are: a row of indices for each."""
    return np.stack(np.nonzero(x), 1) if x.ndim else np.zeros((int(x != 0), 0), np.int64)


@method
def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """A copy of the places that a one-dimensional tensor names, along one dimension."""
    dim = normalize_dim(dim, x.ndim)
    refuse(index.ndim > 1, "index_select(): Index is supposed to be a vector", IndexError)
    refuse(index.dtype not in (int64, int32), "index_select(): Expected dtype int32 or int64 for index")
    for place in on_host(index).ravel():
        if not 0 <= place < x.shape[dim]:
            refuse(dim == 1, f"INDICES element is out of DATA bounds, id={place} axis_dim={x.shape[dim]}")
            raise IndexError("index out of range in self")
    return x[(slice(None),) * dim + (index if index.ndim else views.unsqueeze(index, 0),)]


@method
def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is True, in one dimension. Both are broadcast first."""
    x, mask = broadcast_tensors(x, mask)
    return x[mask]
