"""An exception on its way from another process or thread."""

from __future__ import annotations

import traceback
from typing import Any, NoReturn


class ExceptionWrapper:
    """An exception with its trace, as text, and where it was raised: "in replica 1 on device 1"."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        self.trace = "".join(traceback.format_exception(error))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raises an exception of the same type, or a RuntimeError where that is impossible, with the whole trace."""
        kind: Any = self.kind
        message: Any = f"Caught {kind.__name__} {self.where}.\nOriginal {self.trace}"
        if kind is KeyError:
            message = _Unquoted(message)
        elif getattr(kind, "message", None):
            raise kind(message=message)
        try:
            error = kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Unquoted(str):
    """A string that KeyError, which shows the repr of its argument, shows with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
