"""Names that packages import, or compare with, and that raise an error when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def function(name: str, reason: str) -> Callable[..., NoReturn]:
    """A function that raises NotImplementedError; `name` is the name under which programs know it."""

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name}: {reason}")

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    refused.__doc__ = f"Raises NotImplementedError: {reason}."
    return refused


def kind(name: str, reason: str, *bases: type) -> Any:
    """A class of which there are no objects: nothing is an instance, and making one raises NotImplementedError."""
    module, _, short = name.rpartition(".")
    refused = function(name, reason)
    return type(short, bases or (object,), {"__new__": refused, "__module__": module, "__doc__": refused.__doc__})
