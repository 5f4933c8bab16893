"""`as_strided`: the view that can look anywhere in a storage, on which all other views could be built.

Source: https://pytorch.org/docs/stable/generated/torch.as_strided.html
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch import declaration
from minitorch.dispatch.batched import Batched, batched, spread
from minitorch.dispatch.declaration import METHODS, composite, declare
from minitorch.dispatch.overriding import announced
from minitorch.layout import (
    contiguous_stride,
    is_dense,
    may_overlap,
    ordered_strides,
    preserve_format,
    strides_of,
    suggested_format,
)
from minitorch.layout import memory_format as MemoryFormat
from minitorch.ops.creation.filled import as_found
from minitorch.ops.views.shape import strided
from minitorch.size import as_int, checked_ints
from minitorch.tensor import Tensor

Ints = Sequence[int]
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and offset of a tensor in its storage, in elements."""


def _extent(shape: Ints, stride: Ints) -> int:
    """How many elements of the storage there are from the first to the last of a tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def _look(xp: Any, storage: Array, geometry: Geometry) -> Array:
    """A vector seen through a geometry."""
    shape, stride, offset = geometry
    return strided(xp, storage[offset:], shape, [step * storage.itemsize for step in stride])


def _storage_size(*geometries: Geometry) -> int:
    return max(offset + _extent(shape, stride) for shape, stride, offset in geometries)


def beyond_storage(geometry: Geometry, itemsize: int, nbytes: int) -> RuntimeError:
    """The error for a geometry that needs more than the `nbytes` of a storage."""
    shape, stride, offset = geometry
    return RuntimeError(
        f"setStorage: sizes {list(shape)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
        f"requiring a storage size of {_storage_size(geometry) * itemsize} are out of bounds for storage of size "
        f"{nbytes}"
    )


@declaration.view(
    variants="",
    node="AsStridedBackward0",
    derivatives={"self": lambda grad, source, target: as_strided_backward(grad, source, target)},
)
def as_strided_view(xp: Any, self: Array, source: Geometry, target: Geometry, view: Any) -> Array:
    return view


@composite()
def as_strided(input: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's storage with any shape, strides and offset (in elements).

    Raises RuntimeError where it would leave the storage.
    """
    size, stride = checked_ints("as_strided", (size,)), checked_ints("as_strided", (stride,), 2, "stride")
    if isinstance(input, Batched):  # whose examples lie one after the other
        value = input._value
        start = value.storage_offset() + (storage_offset or 0)
        return batched(as_strided(value, (len(value), *size), (value.stride(0), *stride), start), input._level)
    offset = input.storage_offset()
    target = (size, stride, offset if storage_offset is None else as_int(storage_offset))
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    storage, itemsize = input.untyped_storage(), input._dtype.itemsize
    needed = _storage_size(target) * itemsize
    if 0 not in size and needed > storage.nbytes():
        raise beyond_storage(target, itemsize, storage.nbytes())
    steps = tuple(step * itemsize for step in stride)
    array = input._device.backend.strided(storage._bytes, input._dtype.numpy, target[2] * itemsize, size, steps)
    return as_strided_view(input, (input._array.shape, input.stride(), offset), target, array)


@declare(
    variants="", derivatives={"self": lambda grad, source, target: _in_memory(grad, source, target).as_strided(*target)}
)
def as_strided_backward(xp: Any, self: Array, source: Geometry, target: Geometry) -> Array:
    """The gradient of `source`, given that of `target`, two views of one storage: what falls on a place adds up there.

    Where `source` itself shows a place several times, each gets an equal part.
    """
    storage = xp.zeros(_storage_size(source, target), self.dtype)
    if may_overlap(*target[:2]):
        xp.add.at(storage, _places(xp, storage, target), self)
    else:
        _look(xp, storage, target)[...] = self
    if may_overlap(*source[:2]):
        count = xp.zeros(storage.shape, self.dtype)
        xp.add.at(count, _places(xp, storage, source), 1)
        storage /= xp.maximum(count, 1)
    return _look(xp, storage, source)


def _places(xp: Any, storage: Array, geometry: Geometry) -> Array:
    return _look(xp, xp.arange(storage.size), geometry)


def _in_memory(tensor: Tensor, geometry: Geometry, also: Geometry) -> Tensor:
    """A copy of the tensor that lies in its own storage as `geometry` says, with room for another geometry."""
    shape, stride, offset = geometry
    storage = tensor.new_zeros(_storage_size(geometry, also))
    return storage.as_strided_scatter(tensor, shape, stride, offset)


@declare(
    variants="",
    node="AsStridedScatterBackward0",
    derivatives={
        "self": lambda grad, src_shape, source, target: place(grad, grad.new_zeros(src_shape), source, target),
        "src": lambda grad, source, target: as_strided_backward(grad, target, source),
    },
)
def place(xp: Any, self: Array, src: Array, source: Geometry, target: Geometry) -> Array:
    """A copy of self, which lies in memory as `source` says, with `src` where `target` looks."""
    storage = xp.zeros(_storage_size(source, target), self.dtype)
    _look(xp, storage, source)[...] = self
    _look(xp, storage, target)[...] = src
    return _look(xp, storage, source)


@composite()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Tensor:
    """A copy of the tensor with `src` in the view `as_strided(size, stride, storage_offset)` of it.

    Returns a tensor of the shape and dtype of `input`. Raises RuntimeError for a `src` of another shape than `size`.
    """
    offset = input.storage_offset()
    target = (
        checked_ints("as_strided_scatter", (size,), 2),
        checked_ints("as_strided_scatter", (stride,), 3, "stride"),
        offset if storage_offset is None else as_int(storage_offset),
    )
    if src._array.shape != target[0]:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(target[0])}"
        )
    if isinstance(input, Batched) or isinstance(src, Batched):
        copy = input.clone() if isinstance(input, Batched) else spread(input, src)
        copy.as_strided(size, stride, storage_offset).copy_(src)
        return copy
    nbytes = input.untyped_storage().nbytes()
    if 0 not in target[0] and _storage_size(target) * input._dtype.itemsize > nbytes:
        raise beyond_storage(target, input._dtype.itemsize, nbytes)
    return place(input, src, (input._array.shape, input.stride(), offset), target)


def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Gives the tensor another shape, in row-major order from its first element on; its memory grows where needed.

    With `memory_format`, the elements get the order of the format, even if the shape is the same. Returns the tensor
    itself; elements that are new hold anything. Raises RuntimeError for a tensor that requires a gradient and for
    negative sizes, TypeError for what is no size or format.
    https://pytorch.org/docs/stable/generated/torch.Tensor.resize_.html
    """
    if self.requires_grad and not grad_mode.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise TypeError(
            f"resize_(): argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}"
        )
    shape = checked_ints("resize_", sizes if size is None else (size,))
    if min(shape, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if shape != self._array.shape:
        _lay_out(self, shape, contiguous_stride(shape))
        self._bump_version()
    if memory_format is not None:
        _lay_out(self, shape, _stride_in(shape, memory_format))
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor, which it returns.

    With `torch.preserve_format` also to its memory format. Raises TypeError for what is no tensor.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.resize_as_.html
    """
    if not isinstance(the_template, Tensor):
        raise TypeError(
            f"resize_as_(): argument 'the_template' (position 1) must be Tensor, not {type(the_template).__name__}"
        )
    if memory_format is preserve_format:
        memory_format = suggested_format(the_template._array)
    return resize_(self, the_template.shape, memory_format=memory_format)


def _lay_out(self: Tensor, shape: tuple[int, ...], stride: Ints) -> None:
    """Has the tensor look at its storage, which grows where needed, with these strides, from where it begins now."""
    itemsize, start = self._dtype.itemsize, self.storage_offset()
    storage = self.untyped_storage()
    needed = (start + _extent(shape, stride)) * itemsize
    look, kind, added = self._device.backend.strided, self._dtype.numpy, (needed - storage.nbytes()) // itemsize
    if added > 0:
        storage.resize_(needed)
        as_found(look(storage._bytes, kind, needed - added * itemsize, (added,), (itemsize,)))
    steps = tuple(step * itemsize for step in stride)
    self._array = look(storage._bytes, kind, start * itemsize, shape, steps)


def _stride_in(shape: tuple[int, ...], format: MemoryFormat) -> tuple[int, ...]:
    """The strides of a memory format."""
    if format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if format.order is None:
        return contiguous_stride(shape)
    if len(shape) != len(format.order):
        raise RuntimeError(f"required rank {len(format.order)} tensor to use {format.name} format")
    return ordered_strides(shape, reversed(format.order), 1)


METHODS["resize_"] = announced(resize_)
METHODS["resize_as_"] = announced(resize_as_)


def _resize_output(self: Tensor, result: Array) -> None:
    """Makes a tensor that was given to a function as `out=` fit the result: in shape, and in its order in memory."""
    shape = result.shape
    if self._array.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(self.shape)}, which does not "
            f"match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    strides = [step // result.itemsize for step in strides_of(result)]
    _lay_out(self, shape, strides if is_dense(result) else contiguous_stride(shape))


METHODS["_resize_output"] = _resize_output
