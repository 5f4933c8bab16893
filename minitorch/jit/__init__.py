"""Marks that programs leave for PyTorch's compiler of scripts, which is out of scope: code runs as Python.

Source: https://pytorch.org/docs/stable/jit.html
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from minitorch.nn.modules.module import Module

__all__ = [
    "Final", "ScriptModule", "TracerWarning", "annotate", "export", "freeze", "ignore", "interface", "is_scripting",
    "is_tracing", "load", "save", "script", "script_if_tracing", "script_method", "trace", "unused",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])

_said = False


class TracerWarning(Warning):
    """What a tracer recorded holds for the example alone."""


class ScriptModule(Module):
    """What a compiled module would be. Raises NotImplementedError."""

    def __init__(self) -> None:
        _refuse("ScriptModule")()


def script(obj: Any, **options: Any) -> Any:
    """Returns `obj`, a module, function or class, as it is, and says once that nothing is compiled."""
    global _said
    if not _said:
        warnings.warn("minitorch.jit.script compiles nothing: it returns what it gets", stacklevel=2)
        _said = True
    return obj


def ignore(drop: Any = False, **options: Any) -> Any:
    """Marks a function that is not to be compiled, as `@ignore` or `@ignore(...)`: returns it."""
    return drop if callable(drop) else lambda function: function


def _mark(fn: F) -> F:
    """Marks a function for the compiler: returns it."""
    return fn


export = interface = script_if_tracing = script_method = unused = _mark


def is_scripting() -> bool:
    """Whether this runs as compiled code: False."""
    return False


def is_tracing() -> bool:
    """Whether this is being traced: False."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """Tells the compiler a type: returns the value."""
    return the_value


def _refuse(name: str) -> Any:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        """freeze, load, save, trace: raises NotImplementedError."""
        raise NotImplementedError(
            f"torch.jit.{name}: minitorch has no compiler of scripts; save state_dict() with torch.save"
        )

    return refused


freeze, load, save, trace = map(_refuse, ("freeze", "load", "save", "trace"))
