"""The array libraries behind the devices. This package alone names numpy or cupy.

A `Backend` is one array library seen through the few operations that NumPy and CuPy spell differently; everything else
an op needs is the library's own API, `backend.xp`, which the two share.
"""

from __future__ import annotations

from typing import Any, Protocol

Array = Any  # numpy.ndarray or cupy.ndarray: their shared API has no common static type


class Backend(Protocol):
    """What a device needs from its array library."""

    xp: Any
    """The array module: `numpy` or `cupy`."""

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


def backend_for(device_type: str) -> Backend:
    """The backend that computes for a device type."""
    if device_type == "cpu":
        from minitorch.backend.numpy import NumPyBackend

        return NumPyBackend()
    raise NotImplementedError(f"minitorch has no backend for device type {device_type!r} yet")
