"""The memory of simulated GPUs, and which of them is the current one."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np


class OutOfMemoryError(MemoryError):
    """The memory of a simulated GPU is full, as `cupy.cuda.memory.OutOfMemoryError`."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes).")
        self._sizes = size, total, limit

    def __reduce__(self) -> Any:
        return type(self), self._sizes


class GpuMemory:
    """How many bytes of one GPU are in use. A block takes a multiple of 512 bytes, as in PyTorch and CuPy."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = self.peak = self.most_blocks = 0
        self._owners: set[int] = set()
        self._lock = threading.RLock()

    def count(self, array: Any) -> None:
        """Count the memory of an array of NumPy until it is freed. Raises OutOfMemoryError if there is too little."""
        base = array.base
        while base is not None:  # `as_strided` puts an object of its own between
            array = base if isinstance(base, np.ndarray) else array
            base = getattr(base, "base", None)
        with self._lock:
            key, nbytes = id(array), -(-array.nbytes // 512) * 512
            if key in self._owners or not nbytes:
                return
            if self.used + nbytes > self.total:
                raise self.full(nbytes)
            self._owners.add(key)
            self.used += nbytes
            self.peak = max(self.peak, self.used)
            self.most_blocks = max(self.most_blocks, self.blocks)
        weakref.finalize(array, self._free, key, nbytes).atexit = False

    @property
    def blocks(self) -> int:
        """How many blocks are in use."""
        return len(self._owners)

    def full(self, nbytes: int) -> OutOfMemoryError:
        """The error of memory in which so many bytes have no place."""
        return OutOfMemoryError(nbytes, self.used)

    def _free(self, key: int, nbytes: int) -> None:
        with self._lock:
            self._owners.discard(key)
            self.used -= nbytes


class Device:
    """A GPU by its number; as a context manager, the current one of this thread, as `cupy.cuda.Device`."""

    def __init__(self, number: int | None = None) -> None:
        self.id = current() if number is None else number

    def __enter__(self) -> Device:
        _state.entered = (*getattr(_state, "entered", ()), current())
        _state.device = self.id
        return self

    def __exit__(self, *error: object) -> None:
        *_state.entered, _state.device = _state.entered

    def use(self) -> None:
        """Make it the current one of this thread."""
        _state.device = self.id


_state = threading.local()
MEMORIES: dict[int, GpuMemory] = {}


def current() -> int:
    """The number of this thread's current GPU."""
    return getattr(_state, "device", 0)
