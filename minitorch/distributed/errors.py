"""What goes wrong between processes. All are RuntimeErrors.

Source: https://pytorch.org/docs/stable/distributed.html
"""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Any error of this package that has a class of its own."""


class DistBackendError(DistError):
    """The library that moves the tensors failed."""


class DistNetworkError(DistError):
    """A connection failed."""


class DistStoreError(DistError):
    """A store failed, or a key was not set in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store that should give an element at once is empty."""
