"""Names for functions that are generated, or whose own name is taken in their file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def called(name: str, explanation: str | None = None) -> Callable[[AnyFunction], AnyFunction]:
    """Gives a function its public name, and a docstring where it is written without one."""

    def rename(function: AnyFunction) -> AnyFunction:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = explanation or function.__doc__
        return function

    return rename
