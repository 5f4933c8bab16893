"""What a tensor is: a strided view of a storage."""

# 02 · Tensors and storage
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from . import printing
from .arrays import LIBRARIES, library_of
from .checks import refuse
from .settings import FROM_NUMPY, bool_, int64, settings
from .strides import Size, contiguous_strides, normalize_dim, strided


class Storage:
    """A flat row of numbers in the memory of one device, which tensors may share, and how often it was written to."""

    def __init__(self, flat: Any) -> None:
        self.flat = flat
        self.dtype = FROM_NUMPY[flat.dtype]
        self.device = LIBRARIES[type(flat)].device_of(flat)
        self.version = 0

    def __len__(self) -> int:
        return len(self.flat)


class Tensor:
    """A strided view of a storage. Operations, and the fields of autograd, are added by the files that declare them."""

    def __init__(self, storage: Storage, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> None:
        self.storage, self.dtype, self.device = storage, storage.dtype, storage.device
        self.shape, self.strides, self.offset = Size(size), tuple(stride), offset

    @cached_property
    def array(self) -> Any:
        """The elements as an array that shares the storage's memory."""
        return strided(self.storage.flat, self.shape, self.strides, self.offset)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        return self.shape if dim is None else self.shape[normalize_dim(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        """How far apart in the storage neighbours along each dimension lie, in elements; or along one dimension."""
        return self.strides if dim is None else self.strides[normalize_dim(dim, self.ndim)]

    def is_contiguous(self) -> bool:
        """Whether the elements lie row by row without gaps. Strides along dimensions of length 1 don't matter."""
        dims = zip(self.shape, self.strides, contiguous_strides(self.shape), strict=True)
        return self.numel() == 0 or all(length == 1 or step == wanted for length, step, wanted in dims)

    def data_ptr(self) -> int:
        """The address of the first element."""
        flat = self.storage.flat
        return library_of(flat).pointer(flat[self.offset :])

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return on_host(self).tolist()

    def item(self) -> Any:
        """The only element as a Python number."""
        refuse(self.numel() != 1, f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return on_host(self).reshape(()).item()

    def __len__(self) -> int:
        refuse(not self.shape, "len() of a 0-d tensor", TypeError)
        return self.shape[0]

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        refuse(not self.shape, "iteration over a 0-d tensor", TypeError)
        return iter(self.unbind())  # of chapter 04

    def __bool__(self) -> bool:
        if self.numel() != 1:
            kind = "more than one value" if self.numel() else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        return bool(self.item())

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        default = self.dtype in (settings.default_dtype, int64, bool_)
        indent = len("tensor(")
        notes = [f"device='{self.device}'"] if self.device.type != "cpu" else []
        if self.numel() == 0:
            body = "[]"
            notes = ([f"size={tuple(self.shape)}"] if self.ndim != 1 else []) + notes
            default = self.dtype is settings.default_dtype
        else:
            body = printing.format_array(on_host(self), indent)
        notes += [] if default else [f"dtype={self.dtype!r}"]
        notes += [note for write in HISTORY_NOTES for note in write(self)]
        return printing.add_suffixes(f"tensor({body}", notes, indent) + ")"


def on_host(x: Tensor) -> Any:
    """The elements as a NumPy array, wherever the tensor lies."""
    return library_of(x.storage.flat).to_numpy(x.array)


HISTORY_NOTES: list[Callable[[Tensor], list[str]]] = []
"""Each says what a printed tensor tells of its history, such as its `grad_fn`: chapter 06 adds one."""


def from_array(array: Any) -> Tensor:
    """A new contiguous tensor with the elements of `array`, which it takes over if they lie row by row, else copies."""
    array = np.asarray(array) if isinstance(array, np.generic) else array  # of NumPy's own numbers, too
    made = Tensor(Storage(array.ravel()), array.shape, contiguous_strides(array.shape))
    if array.flags.c_contiguous:
        made.array = array  # what `strided` would find
    return made


def extend(target: Any, **members: Any) -> None:
    """Give a class, or an operation, what a chapter adds to it: one table, at the end of the chapter's file."""
    for name, member in members.items():
        setattr(target, name, member)


extend(
    Tensor,
    ndim=property(lambda x: len(x.shape)),
    dim=lambda x: len(x.shape),
    numel=lambda x: x.shape.numel(),
    storage_offset=lambda x: x.offset,
    element_size=lambda x: x.dtype.itemsize,
    nbytes=property(lambda x: x.numel() * x.dtype.itemsize),  # of the elements; the storage may be larger
    is_floating_point=lambda x: x.dtype.is_floating_point,
)
