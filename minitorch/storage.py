"""The flat memory that tensors are views of.

Source: https://pytorch.org/docs/stable/storage.html
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from minitorch.arrays import Array, pinned
from minitorch.arrays.shared import SharedMemory, allocate, shared_memory_of
from minitorch.devices import cpu, device, tensor_device
from minitorch.dtypes import dtype
from minitorch.warn_once import warn_once

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class Reference(weakref.ref["Tensor"]):
    """A weak reference to a tensor that is equal to itself alone: tensors are compared element by element."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class UntypedStorage:
    """A row of bytes on one device. All views of a tensor share one storage object, which knows them: if the memory
    moves, they move with it."""

    __slots__ = ("__weakref__", "_array", "_buffer", "_forget", "_tensors", "device")

    def __init__(self, array: Array, device: device) -> None:
        self._array = array
        self._buffer: Array | None = None
        self._tensors: set[Reference] = set()
        self._forget = self._tensors.discard
        self.device = device

    def _take_in(self, tensor: Tensor) -> None:
        """Makes this the storage of a tensor, whose array lies in it."""
        tensor._storage = self
        if not self._tensors or all(each() is not tensor for each in self._tensors.copy()):
            self._tensors.add(Reference(tensor, self._forget))

    @property
    def _bytes(self) -> Array:
        """The memory as one-dimensional uint8 array, made when first asked for: few tensors ever are."""
        if self._buffer is None:
            self._buffer = self.device.backend.as_bytes(self._array)
            self._array = None
        return self._buffer

    @staticmethod
    def from_file(filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, mapped into memory: read when needed, and written back only if `shared`.

        A shared file is made, or made longer, where needed. Raises RuntimeError for other files that are missing or
        too short. Source: https://pytorch.org/docs/stable/storage.html#torch.UntypedStorage.from_file
        """
        path = os.fspath(filename)
        if not shared and not os.path.exists(path):
            raise RuntimeError(f"unable to open file <{path}> in read-only mode: No such file or directory (2)")
        if not shared and (size := os.path.getsize(path)) < nbytes:
            raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        backend: Any = cpu.backend
        return UntypedStorage(backend.map_file(path, shared, nbytes) if nbytes else cpu.xp.empty(0, "uint8"), cpu)

    def __reduce__(self) -> Any:
        return _rebuild, (self.device.backend.to_host(self._bytes), str(self.device))

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._bytes.size)

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte; equal for tensors that share memory."""
        return self.device.backend.pointer(self._bytes) if self._bytes.size and self.device.type != "meta" else 0

    def tolist(self) -> list[int]:
        return [int(byte) for byte in self.device.backend.to_host(self._bytes)]

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Makes the storage `nbytes` long in new memory, keeping the bytes that fit.

        A tensor that no longer fits keeps the memory it had.
        """
        return self._move_to(self.device.xp.zeros(nbytes, "uint8"))

    def share_memory_(self) -> UntypedStorage:
        """Moves the storage to memory that other processes can see, if it isn't there."""
        if self.device.type != "cuda":  # which is shared anyhow
            self._share()
        return self

    def _share(self) -> SharedMemory:
        """Moves the storage to shared memory, unless it is there already, and all tensors on it with it."""
        if self.device.type == "meta":
            raise RuntimeError("_share_fd_: only available on CPU")
        memory = shared_memory_of(self._bytes)
        if memory is None:
            memory = allocate(self.nbytes())
            self._move_to(self.device.backend.strided(memory, "uint8", 0, (self.nbytes(),), (1,)))
        return memory

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a device: itself where it is there, else a copy."""
        where = tensor_device(device)
        if where is self.device:
            return self
        return UntypedStorage(where.backend.from_host(self.device.backend.to_host(self._bytes)), where)

    def cpu(self) -> UntypedStorage:
        """The bytes in host memory."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a GPU, by default the current one."""
        return self.to(device="cuda" if device is None else device)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.device.type == "cuda"

    def get_device(self) -> int | None:
        """The index of the device; None on the CPU."""
        return self.device.index

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is page-locked, so that GPUs copy out of it directly."""
        return self.device is cpu and pinned.is_pinned(self._bytes)

    def pin_memory(self, device: Any = "cuda") -> UntypedStorage:
        """This in page-locked memory, as it is or as a copy. Raises RuntimeError without a GPU, TypeError on one."""
        if self.device is not cpu:
            raise TypeError(f"cannot pin '{self.device.type}' only CPU memory can be pinned")
        if self.is_pinned():
            return self
        memory = pinned.allocate(self.nbytes())
        memory[...] = self._bytes
        return UntypedStorage(memory, cpu)

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self.device.type == "cuda" or (self.device is cpu and shared_memory_of(self._bytes) is not None)

    def _move_to(self, moved: Array) -> UntypedStorage:
        """Makes other bytes the memory, and copies what fits into them. All tensors that share it move with it."""
        known = [each() for each in self._tensors.copy()]
        tensors = [each for each in known if each is not None and each._storage is self]
        offsets = [each.storage_offset() * each.itemsize for each in tensors]
        kept = min(moved.size, self.nbytes())
        with self.device.active():
            moved[:kept] = self._bytes[:kept]
        self._buffer = moved
        for tensor, offset in zip(tensors, offsets, strict=True):
            array = tensor._array
            if not array.size or offset + self.device.backend.as_bytes(array).size <= moved.size:
                tensor._array = self.device.backend.strided(moved, array.dtype, offset, array.shape, array.strides)
        return self

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __getitem__(self, index: Any) -> Any:
        """A byte, or for a slice a storage that shares these bytes."""
        if not isinstance(index, slice):
            with self.device.active():
                return int(self._bytes[index])
        if index.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
        return UntypedStorage(self._bytes[index], self.device)

    def __setitem__(self, index: Any, value: int) -> None:
        with self.device.active():
            self._bytes[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        rows = "..." if self.device.type == "meta" else "\n".join(f" {byte}" for byte in self.tolist())
        return f"{rows}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _rebuild(memory: Any, device_name: str) -> UntypedStorage:
    where = device(device_name)
    return UntypedStorage(where.backend.from_host(memory), where)


class TypedStorage:
    """A storage seen as a row of elements of one dtype. It is deprecated: `Tensor.untyped_storage` is what remains.

    Source: https://pytorch.org/docs/stable/storage.html#torch.TypedStorage
    """

    __slots__ = ("_untyped", "dtype")

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: dtype) -> None:
        self._untyped = wrap_storage
        self.dtype = dtype

    @property
    def _elements(self) -> Array:
        whole = self._untyped.nbytes() // self.dtype.itemsize * self.dtype.itemsize
        return self._untyped._bytes[:whole].view(self.dtype.numpy)

    def __getattr__(self, name: str) -> Any:
        """What doesn't depend on the type of the elements: `device`, `nbytes`, `data_ptr`, `is_shared` …"""
        return getattr(self._untyped, name)

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self._untyped

    def size(self) -> int:
        """The number of elements."""
        return int(self._elements.size)

    __len__ = size

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    def tolist(self) -> list[Any]:
        host = self.device.backend.to_host(self._elements)
        return (host.astype("float64") if self.dtype.is_low_precision else host).tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Overwrites all elements."""
        with self.device.active():
            self._elements[...] = value
        return self

    def clone(self) -> TypedStorage:
        """A copy in memory of its own."""
        memory = self.device.xp.array(self._untyped._bytes)
        return TypedStorage(wrap_storage=UntypedStorage(memory, self.device), dtype=self.dtype)

    def share_memory_(self) -> TypedStorage:
        """Moves the storage to memory that other processes can see, if it isn't there."""
        self._untyped.share_memory_()
        return self

    def _place(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index

    def __getitem__(self, index: Any) -> Any:
        """An element as a Python number. Raises RuntimeError for slices, which only untyped storages have."""
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        return self.tolist()[self._place(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        with self.device.active():
            self._elements[index if isinstance(index, slice) else self._place(index)] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        elements = " " + "\n ".join(str(each) for each in self.tolist())
        kind = f"dtype={self.dtype}, device={self.device}"
        return f"{elements}\n[torch.storage.TypedStorage({kind}) of size {self.size()}]"


def warn_of_typed_storage() -> None:
    """Says once that typed storages are deprecated."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=3,
    )
