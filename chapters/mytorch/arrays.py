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
    """What must be known about a kind of array.

    Args:
        as_strided: `as_strided(array, shape, strides)`: the same memory with other strides, in bytes.
        device_of: where such an array lies.
        to_numpy: the array as NumPy's, copied if it lies elsewhere.
        pointer: the address of its first element.
    """

    as_strided: Callable[..., Any]
    device_of: Callable[[Any], device]
    to_numpy: Callable[[Any], Any]
    pointer: Callable[[Any], int]


def as_strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The memory of a flat array with another shape and other strides, in bytes.

    As `np.lib.stride_tricks.as_strided`, which takes fifteen times as long.
    """
    return np.ndarray(shape, array.dtype, array, 0, strides)


LIBRARIES: dict[type, Library] = {
    np.ndarray: Library(as_strided, lambda array: CPU, lambda array: array, lambda array: int(array.ctypes.data))
}
"""By the class of an array."""

FROM_NUMPY: dict[str, Callable[[Any, device], Any]] = {"cpu": lambda array, where: array}
"""How a NumPy array gets to a device, by the device's type."""


def library_of(array: Any) -> Library:
    """What is known about this kind of array."""
    return LIBRARIES[type(array)]


def move(array: Any, where: device) -> Any:
    """The array on another device, by way of NumPy; itself if it is there."""
    library = library_of(array)
    return array if library.device_of(array) == where else FROM_NUMPY[where.type](library.to_numpy(array), where)


def as_array(result: Any) -> Any:
    """An array, also where NumPy gave a number of its own for a result without dimensions."""
    return np.asarray(result) if isinstance(result, np.generic) else result
