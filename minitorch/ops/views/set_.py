"""`set_`: another memory for a tensor.

Source: https://pytorch.org/docs/stable/generated/torch.Tensor.set_.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.inplace import NotImplementedNode, check_writable, rebase_history
from minitorch.autograd.node import gradient_edge
from minitorch.dispatch.declaration import METHODS
from minitorch.dispatch.overriding import announced
from minitorch.dtypes import c_type_name
from minitorch.layout import contiguous_stride
from minitorch.size import checked_ints
from minitorch.storage import UntypedStorage
from minitorch.tensor import Tensor

Ints = Sequence[int]


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Ints | None = None, stride: Ints | None = None
) -> Tensor:
    """Has the tensor share the memory of another tensor, or look at a storage, which grows where that is too short.

    Without a source the tensor gets an empty storage and the shape (0,). Returns the tensor itself. No gradient goes
    through it: one that arrives raises RuntimeError, and so does a source of another dtype.
    https://pytorch.org/docs/stable/generated/torch.Tensor.set_.html
    """
    _check_arguments(source, storage_offset, size)
    if isinstance(source, Tensor) and size is None:
        if source._dtype is not self._dtype:
            one, other = c_type_name(source), c_type_name(self)
            raise RuntimeError(f"Could not set tensor of type {one} to a tensor of type {other}")
        sources: tuple[Tensor, ...] = (source,)
        storage = source.untyped_storage()
        geometry = tuple(source.shape), source.stride(), source.storage_offset()
    else:
        sources = ()
        if isinstance(source, Tensor):
            if not source.is_contiguous():
                raise RuntimeError("passed in tensor to be used as storage must be contiguous")
            source, storage_offset = source.untyped_storage(), storage_offset + source.storage_offset()
        storage = UntypedStorage(self._device.xp.empty(0, "uint8"), self._device) if source is None else source
        shape = (storage.nbytes() // self._dtype.itemsize,) if size is None else checked_ints("set_", (size,), 3)
        strides = contiguous_stride(shape) if stride is None else checked_ints("set_", (stride,), 4, "stride")
        geometry = shape, strides, storage_offset
    check_writable(self, sources)
    edges = [gradient_edge(each) for each in (self, *sources)] if grad_mode.enabled else [None]
    _look_at(self, storage, *geometry)
    self._bump_version()
    if any(edges) and self._dtype.is_differentiable:
        rebase_history(self, NotImplementedNode("set_", edges, self))
    return self


def _check_arguments(source: Any, storage_offset: Any, size: Any) -> None:
    """Raises TypeError for arguments that fit none of PyTorch's overloads."""
    fits = source is None or isinstance(source, (Tensor, UntypedStorage))
    if not fits or (size is None and storage_offset) or not (size is None or isinstance(size, (tuple, list))):
        given = (source, storage_offset, size)[: 1 if size is None and not storage_offset else 2 if size is None else 3]
        kinds = ", ".join(type(each).__name__ for each in given)
        raise TypeError(f"set_() received an invalid combination of arguments - got ({kinds}), but expected one of:")


def _look_at(self: Tensor, storage: UntypedStorage, shape: Ints, stride: Ints, offset: int) -> None:
    """Makes the tensor a view of this part of a storage. Raises RuntimeError where there is no such part."""
    itemsize = self._dtype.itemsize
    if len(shape) != len(stride):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(stride)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if min(shape, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(stride)}")
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if 0 not in shape and (last + 1) * itemsize > storage.nbytes():
        storage.resize_((last + 1) * itemsize)
    steps = tuple([step * itemsize for step in stride])
    backend = self._device.backend
    self._array = backend.strided(storage._bytes, self._dtype.numpy, offset * itemsize, tuple(shape), steps)
    storage._take_in(self)


METHODS["set_"] = announced(set_)
