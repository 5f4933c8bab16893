"""The array libraries behind the devices. This package alone names numpy or cupy.

A `Backend` is one array library seen through the few operations that NumPy and CuPy spell differently; everything else
an op needs is the library's own API, `backend.xp`, which the two share.
"""

from __future__ import annotations

from typing import Any, Protocol

from minitorch.arrays import gpus

Array = Any  # numpy.ndarray or cupy.ndarray: their shared API has no common static type

# How parameters and results of ops are annotated besides.
BoolArray = Any
Number = Any
Double = Any  # a number, which errors call float
Dims = Any
Variadic = Any
Ints = tuple[int, ...]
Shape = tuple[int, ...]


def pointer_of(array: Array) -> int:
    """The address of an array's first element, in the memory of its device."""
    if hasattr(array, "__array_interface__"):
        return int(array.__array_interface__["data"][0])
    return int(array.data.ptr)


class Backend(Protocol):
    """What a device needs from its array library."""

    xp: Any
    """The array module: `fast_numpy`, or `cupy` on one GPU. `xp.is_host` tells whether it computes in host memory."""

    def strided(
        self, buffer: Array, dtype: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        """A view of a one-dimensional uint8 `buffer`; `offset` and `strides` are in bytes."""

    def as_bytes(self, array: Array) -> Array:
        """The memory that an array spans, from its first element on, as one-dimensional uint8 array (no copy)."""

    def pointer(self, array: Array) -> int:
        """The address of the array's first element."""

    def to_host(self, array: Array) -> Any:
        """The same elements as a NumPy array; no copy where they already are in host memory."""

    def from_host(self, array: Any) -> Array:
        """A copy of a NumPy array in this backend's memory."""


def backend_for(device_type: str, index: int | None) -> Backend:
    """The backend that computes for a device type."""
    if device_type == "cpu":
        from minitorch.arrays.numpy import NumPyBackend  # loads the array library

        return NumPyBackend()
    if device_type == "meta":
        from minitorch.arrays.meta import MetaBackend  # loads what arrays without elements need

        return MetaBackend()
    if device_type == "cuda" and index is not None and (library := gpus.library()) is not None:
        return gpus.GPUBackend(library, index)
    raise NotImplementedError(f"minitorch has no backend for device type {device_type!r} yet")
