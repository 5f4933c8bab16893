"""What a tensor says about itself: dtype, device, shape, how it lies in memory, and what its elements are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from minitorch import devices, dtypes
from minitorch.backend import Array
from minitorch.bits import resolved
from minitorch.layout import contiguous_format, is_contiguous, restrided, strides_of
from minitorch.layout import memory_format as MemoryFormat
from minitorch.size import Size
from minitorch.storage import UntypedStorage

_tuple: Callable[[type[Size], tuple[int, ...]], Size] = tuple.__new__


class Metadata:
    """The part of Tensor that answers questions about it.

    `_array` is the memory and the geometry: shape and strides are its own. What the elements are depends on `_bits` too
    (see `bits`), so who wants to know these reads `_elements`, and who overwrites them calls `_put`.
    """

    __slots__ = ("_array", "_bits", "_device", "_dtype", "_storage")

    _array: Array
    _bits: int
    _device: devices.device
    _dtype: dtypes.dtype
    _storage: UntypedStorage | None

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return self._dtype

    @property
    def device(self) -> devices.device:
        """Where the memory is."""
        return self._device

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return _tuple(Size, self._array.shape)  # which needs no check

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension. Raises IndexError when there is no such dimension."""
        return self.shape if dim is None else self._array.shape[self._checked_dim(dim)]

    def stride(self, dim: int | None = None) -> Any:
        """How many elements of the storage lie between neighbours along each dimension, or along one."""
        itemsize = self._dtype.itemsize
        if dim is not None:
            return self.stride()[self._checked_dim(dim)]
        strides = strides_of(self._array) if self._storage is None else self._array.strides
        return tuple([step // itemsize for step in strides])

    def _checked_dim(self, dim: int) -> int:
        from minitorch.ops.errors import check_dim

        if not self._array.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return check_dim(dim, self._array.ndim)

    @property
    def _elements(self) -> Array:
        """The elements: the array itself, or of a conjugate or negative view an array of its own."""
        return resolved(self._device.xp, self._array, self._bits) if self._bits else self._array

    def _put(self, array: Array) -> None:
        """Overwrites the elements with those of an array that is broadcast to the shape, and counts no version."""
        self._array[...] = resolved(self._device.xp, array, self._bits) if self._bits else array

    def storage_offset(self) -> int:
        """The index, in elements, of the first element in the storage."""
        if self._storage is None:
            return 0
        pointer = self._device.backend.pointer
        return int((pointer(self._array) - pointer(self._storage._bytes)) // self._dtype.itemsize)

    def untyped_storage(self) -> UntypedStorage:
        """The memory itself, the same object for all tensors that share it."""
        if self._storage is None:
            if not self._array.size:
                self._array = restrided(self._device.xp, self._array, strides_of(self._array))
            self._storage = UntypedStorage(self._array, self._device)
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._device.backend.pointer(self._array) if self._array.size else 0

    def dim(self) -> int:
        """The number of dimensions."""
        return cast(int, self._array.ndim)

    @property
    def ndim(self) -> int:
        return self.dim()

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return cast(int, self._array.size)

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element."""
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.numel() * self._dtype.itemsize

    def is_floating_point(self) -> bool:
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        return self._dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        return self._device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self._device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self._device.type == "meta"

    def get_device(self) -> int:
        """The index of the device; -1 on the CPU."""
        return -1 if self._device.index is None else self._device.index

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in the storage in row-major order, or that of the format, without gaps."""
        if not isinstance(memory_format, MemoryFormat):
            raise TypeError(
                "is_contiguous(): argument 'memory_format' must be torch.memory_format, not "
                f"{type(memory_format).__name__}"
            )
        return is_contiguous(self._array, memory_format)
