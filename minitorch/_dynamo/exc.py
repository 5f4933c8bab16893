"""The errors of capture.

Source: torch/_dynamo/exc.py
"""

from __future__ import annotations


class TorchDynamoException(RuntimeError):  # noqa: N818 - PyTorch's name
    """What all errors of the compiler are."""


class Unsupported(TorchDynamoException):
    """The function does what a graph can't hold, and was compiled with `fullgraph=True`."""


class UserError(Unsupported):
    """The program asks for what can't be."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """A function compiled with `fullgraph=True` has reached `config.recompile_limit`."""


class Break(Exception):  # noqa: N818 - no error: capture ends
    """Capture ends here: the function is split, or runs eagerly.

    Args:
        reason: why, as `explain` says it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = ""


class NeedsBreaks(Exception):  # noqa: N818 - no error: capture begins again
    """The graph may fail after it has written to a tensor: then effects on Python objects can't wait for its end."""


class Failed(Exception):  # noqa: N818 - no error: the function runs eagerly
    """A graph has failed before anything has happened that others can see."""


class NeedsStatic(Exception):  # noqa: N818 - no error: capture begins again
    """Python read of a size what only one value of it makes true: no dimension may be a symbol."""
