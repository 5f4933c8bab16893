"""The kinds of arrays that hold a tensor's numbers. NumPy's are on the CPU; devices add theirs."""

# 02 · Tensors and storage
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .settings import device

CPU = device("cpu")


@dataclass
class Library:
    """What must be known about a kind of array."""

    as_strided: Callable[..., Any]  # (array, shape, strides): the same memory with other strides, in bytes
    device_of: Callable[[Any], device]
    to_numpy: Callable[[Any], Any]  # copies what isn't in the CPU's memory
    pointer: Callable[[Any], int]  # the address of the first element


def as_strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The memory of a flat array with other strides: `np.lib.stride_tricks.as_strided` takes fifteen times as long."""
    refuse_freed(array, shape)
    return np.ndarray(shape, array.dtype, array, 0, strides)


def refuse_freed(array: Any, shape: tuple[int, ...]) -> None:
    """Raise if there are no numbers any more for a shape: NumPy would read whatever lies in that memory now."""
    if not len(array) and 0 not in shape:
        raise RuntimeError("The tensor has a non-zero number of elements, but its data is not allocated yet.")


LIBRARIES: dict[type, Library] = {
    np.ndarray: Library(as_strided, lambda array: CPU, lambda array: array, lambda array: int(array.ctypes.data))
}
"""What is known about each kind of array, by its class. Chapter 05 adds those of GPUs."""

TO_DEVICE: dict[str, Callable[[Any, device], Any]] = {"cpu": lambda array, where: array}
"""How a NumPy array gets to a device, by the device's type."""


def library_of(array: Any) -> Library:
    """What is known about this kind of array."""
    return LIBRARIES[type(array)]


def move(array: Any, where: device) -> Any:
    """The array on another device, by way of NumPy; itself if it is there."""
    library = library_of(array)
    return array if library.device_of(array) == where else TO_DEVICE[where.type](library.to_numpy(array), where)
