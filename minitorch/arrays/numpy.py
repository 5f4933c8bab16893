"""Host memory, computed on by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.arrays import fast_numpy

Array = np.ndarray[Any, Any]


class NumPyBackend:
    """The backend of `device("cpu")`."""

    xp: Any = fast_numpy

    def strided(
        self, buffer: Array, dtype: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        if 0 in shape:  # which may begin anywhere
            buffer, offset = np.lib.stride_tricks.as_strided(buffer, (2,), (offset,))[1:], 0
        return np.ndarray(shape, dtype, buffer, offset, strides)

    def as_bytes(self, array: Array) -> Array:
        if array.size == 0:
            return np.lib.stride_tricks.as_strided(array, (0,), (array.itemsize,)).view(np.uint8)
        span = (
            sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)) // array.itemsize
        )
        flat = np.lib.stride_tricks.as_strided(array, (span + 1,), (array.itemsize,), writeable=array.flags.writeable)
        return flat.view(np.uint8)

    def pointer(self, array: Array) -> int:
        return int(array.__array_interface__["data"][0])

    def to_host(self, array: Array) -> Array:
        return array

    def map_file(self, path: str, shared: bool, count: int) -> Array:
        """The first bytes of a file, read when they are looked at. Writes go to the file only if it is shared."""
        if shared:
            open(path, "ab").close()
        return np.asarray(np.memmap(path, np.uint8, "r+" if shared else "c", shape=(count,)))

    def from_host(self, array: Array) -> Array:
        return array.copy()
