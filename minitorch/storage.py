"""The flat memory that tensors are views of.

Source: https://pytorch.org/docs/stable/storage.html
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

from minitorch.backend import Array
from minitorch.devices import cpu, device


class UntypedStorage:
    """A row of bytes on one device. All views of a tensor share one storage object."""

    __slots__ = ("__weakref__", "_array", "_buffer", "device")

    def __init__(self, array: Array, device: device) -> None:
        self._array = array
        self._buffer: Array | None = None
        self.device = device

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
        return self.device.backend.pointer(self._bytes) if self._bytes.size else 0

    def tolist(self) -> list[int]:
        return [int(byte) for byte in self.device.backend.to_host(self._bytes)]

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Makes the storage `nbytes` long in new memory, keeping the bytes that fit.

        A tensor that no longer fits keeps the memory it had.
        """
        return self._move_to(self.device.xp.zeros(nbytes, "uint8"))

    def share_memory_(self) -> UntypedStorage:
        """Moves the storage to memory that other processes can see, if it isn't there."""
        from minitorch.shared_memory import share

        if self.device.type != "cuda":  # which is shared anyhow
            share(self)
        return self

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        from minitorch.shared_memory import shared_memory_of

        return self.device.type == "cuda" or shared_memory_of(self._bytes) is not None

    def _move_to(self, moved: Array) -> UntypedStorage:
        """Makes other bytes the memory, and copies what fits into them.

        All tensors that share the storage move with it. It doesn't know them, and being asked this is rare, so they are
        looked for among all objects.
        """
        from minitorch.tensor import Tensor

        shared = [each for each in gc.get_referrers(self) if isinstance(each, Tensor) and each._storage is self]
        offsets = [each.storage_offset() * each.itemsize for each in shared]
        kept = min(moved.size, self.nbytes())
        moved[:kept] = self._bytes[:kept]
        self._buffer = moved
        for tensor, offset in zip(shared, offsets, strict=True):
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
            return int(self._bytes[index])
        if index.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
        return UntypedStorage(self._bytes[index], self.device)

    def __setitem__(self, index: Any, value: int) -> None:
        self._bytes[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        rows = "\n".join(f" {byte}" for byte in self.tolist())
        return f"{rows}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _rebuild(memory: Any, device_name: str) -> UntypedStorage:
    where = device(device_name)
    return UntypedStorage(where.backend.from_host(memory), where)
