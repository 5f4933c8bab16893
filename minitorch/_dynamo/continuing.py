"""What runs after a graph that ends before its function does: the instruction that broke it, and the rest.

The rest is a function, which is compiled in turn; so are the Python functions which the instruction calls.
"""

from __future__ import annotations

import inspect
import os
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from minitorch._dynamo.calling import GLOBAL_HOOKS, HOOKS
from minitorch._dynamo.exc import Failed
from minitorch._dynamo.splitting import Split
from minitorch.nn.modules import hooks
from minitorch.nn.modules.module import Module

if TYPE_CHECKING:
    from minitorch._dynamo.frames import Compiled

STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
LIBRARY = os.path.dirname(os.__file__) + os.sep


class Signature:
    """How a function's arguments become its variables."""

    def __init__(self, function: FunctionType) -> None:
        code = function.__code__
        simple = not (function.__defaults__ or code.co_kwonlyargcount or code.co_flags & STARRED)
        self._names = code.co_varnames[: code.co_argcount] if simple else None
        self._signature = inspect.signature(function, follow_wrapped=False)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments by the names of the variables; None if they don't fit."""
        if self._names is not None and not kwargs and len(args) == len(self._names):
            return dict(zip(self._names, args, strict=True))
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return None
        bound.apply_defaults()
        return bound.arguments


class Family:
    """The functions that are compiled because a compiled one calls them where its graph breaks, or continues in them.

    Args:
        make: compiles a function.
    """

    def __init__(self, make: Callable[[FunctionType], Compiled]) -> None:
        self._make = make
        self._frames: dict[tuple[CodeType, str], Compiled] = {}
        self._signatures: weakref.WeakKeyDictionary[FunctionType, Signature] = weakref.WeakKeyDictionary()

    def add(self, function: FunctionType, compiled: Compiled) -> None:
        """Adds a function that is compiled already."""
        self._frames[function.__code__, function.__code__.co_filename] = compiled

    def __iter__(self) -> Any:
        return iter(self._frames.values())

    def frame(self, function: FunctionType) -> Compiled:
        """The compiled function for all functions of this one's code."""
        key = function.__code__, function.__code__.co_filename
        if key not in self._frames:
            self._frames[key] = self._make(function)
        return self._frames[key]

    def signature(self, function: FunctionType) -> Signature:
        """The signature of a function."""
        if function not in self._signatures:
            self._signatures[function] = Signature(function)
        return self._signatures[function]

    def forget(self, root: Compiled) -> None:
        """Forgets all functions but one."""
        self._frames = {key: each for key, each in self._frames.items() if each is root}

    def through(self, value: Any) -> Any:
        """What is called instead of a function, method or module of the user's: the same, compiled."""
        function, owner = value, tuple[Any, ...]()
        if isinstance(value, MethodType):
            function, owner = value.__func__, (value.__self__,)
        elif isinstance(value, Module) and _is_plain(value):
            function, owner = type(value).forward, (value,)
        if type(function) is not FunctionType or not _is_users(function.__code__):
            return value
        frame = self.frame(function)

        def compiled(*args: Any, **kwargs: Any) -> Any:
            return frame.call(function, (*owner, *args), kwargs)

        return compiled


def _is_plain(module: Module) -> bool:
    """Whether calling a module is nothing but calling its class's `forward`."""
    own = vars(module)
    return (
        type(module).__call__ is Module.__call__
        and "forward" not in own
        and own.get("_compiled_call_impl") is None
        and not any(own.get(name) for name in HOOKS)
        and not any(getattr(hooks, name) for name in GLOBAL_HOOKS)
    )


def _is_users(code: CodeType) -> bool:
    """Whether code is neither minitorch's nor of Python's library."""
    name = code.co_filename
    in_library = name.startswith(LIBRARY) and "site-packages" not in name
    return not (in_library or name.startswith((OURS, "<frozen")))


class Continuation:
    """Carries out what follows a graph."""

    def __init__(self, split: Split, family: Family) -> None:
        self.split, self.family = split, family
        self._step = None if split.step is None else FunctionType(split.step, split.scope)

    def finish(self, values: Any) -> Any:
        """The function's result, of what the instruction takes, what the rest needs besides, and the cells."""
        rest: Continuation | None = self
        while rest is not None:
            function, args = rest._after(*values)
            if rest.split.stop.rest_is_eager:
                return function(*args)
            compiled = rest.family.frame(function)
            arguments = dict(zip(function.__code__.co_varnames, args, strict=False))
            entry = compiled.entry(arguments, function)
            if entry is None:
                return function(*args)
            try:
                values, rest = entry.result(arguments, function), entry.rest
            except Failed:
                return function(*args)
        return values

    def _after(self, taken: tuple[Any, ...], kept: tuple[Any, ...], cells: tuple[Any, ...]) -> tuple[Any, Any]:
        """Runs the instruction. Returns the function that is the rest, and its arguments."""
        split, code = self.split, self.split.next
        if self._step is not None:
            if split.calls:
                taken = (self.family.through(taken[0]), *taken[1:])
            result = self._step(*taken)
            if split.jumps_if is None:
                kept = (*kept, result) if split.pushes else kept
            elif result is not split.jumps_if:  # the step gives the opposite of the condition
                assert split.jump is not None
                code = split.jump
                kept = (*kept, *taken) if split.keeps else kept
        return FunctionType(code, split.scope, code.co_name, None, cells or None), kept
