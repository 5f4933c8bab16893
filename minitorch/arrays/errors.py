"""What array libraries raise that NumPy has no error for."""

from __future__ import annotations


class NoDataError(NotImplementedError):
    """A result, or its shape, depends on the elements of an array of the meta device, of which there are none."""

    def __init__(self) -> None:
        super().__init__("Cannot copy out of meta tensor; no data!")
