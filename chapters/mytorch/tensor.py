"""What a tensor is: a storage, and a walk over it."""

# 02 · Tensors and storage
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from . import printing
from .arrays import as_array, library_of
from .settings import FROM_NUMPY, bool_, device, dtype, int64, settings
from .strides import Size, contiguous_strides, normalize_dim, walk


class Storage:
    """A flat row of numbers in the memory of one device, and how often it was written to.

    Tensors that share it see each other's writes.
    """

    def __init__(self, flat: Any) -> None:
        self.flat = flat
        self.version = 0

    def __len__(self) -> int:
        return len(self.flat)


class Tensor:
    """Numbers of one type with a shape: a storage, and the walk over it that visits them.

    The operations are added by the modules that declare them, and so are the fields of autograd.
    """

    def __init__(self, storage: Storage, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> None:
        self.storage = storage
        self.shape = Size(size)
        self.strides = tuple(stride)
        self.offset = offset

    @cached_property
    def array(self) -> Any:
        """The elements as an array that shares the storage's memory."""
        return walk(self.storage.flat, self.shape, self.strides, self.offset)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return FROM_NUMPY[self.storage.flat.dtype]

    @property
    def device(self) -> device:
        """Where the storage lies."""
        return library_of(self.storage.flat).device_of(self.storage.flat)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        return self.shape if dim is None else self.shape[normalize_dim(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        """How far apart in the storage neighbours along each dimension lie, in elements; or along one dimension."""
        return self.strides if dim is None else self.strides[normalize_dim(dim, self.ndim)]

    def storage_offset(self) -> int:
        """Where in the storage the walk starts."""
        return self.offset

    def dim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def numel(self) -> int:
        """How many elements there are."""
        return self.shape.numel()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements; the storage may be larger."""
        return self.numel() * self.element_size()

    def is_contiguous(self) -> bool:
        """Whether the walk goes row by row without gaps. Strides along dimensions of length 1 don't matter."""
        wanted = contiguous_strides(self.shape)
        return self.numel() == 0 or all(
            length == 1 or step == want for length, step, want in zip(self.shape, self.strides, wanted, strict=True)
        )

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.dtype.is_floating_point

    def data_ptr(self) -> int:
        """The address of the first element."""
        flat = self.storage.flat
        return library_of(flat).pointer(flat[self.offset :])

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return on_host(self).tolist()

    def item(self) -> Any:
        """The only element as a Python number.

        Raises:
            RuntimeError: there is not exactly one.
        """
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return on_host(self).reshape(()).item()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind())

    def __bool__(self) -> bool:
        if self.numel() != 1:
            kind = "more than one value" if self.numel() else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __hash__(self) -> int:
        return id(self)

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
"""What a printed tensor says about its history: autograd adds this."""


def from_array(array: Any) -> Tensor:
    """A new contiguous tensor with the elements of `array`, which it takes over if they lie row by row, else copies."""
    array = as_array(array)
    return Tensor(Storage(array.ravel()), array.shape, contiguous_strides(array.shape))
