"""What runs after a graph that ends before its function does: the instruction that broke it, and the rest.

The rest is a function, which is compiled in turn; so are the Python functions which the instruction calls.
"""

from __future__ import annotations

import inspect
import os
import weakref
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, MethodType
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


class Rest:
    """The rest of a function from one place on: its code, and the compiled function for it."""

    def __init__(self, code: CodeType, scope: dict[str, Any], family: Family) -> None:
        self.names = code.co_varnames[: code.co_argcount]
        self._code, self._scope = code, scope
        self._example = self._made(tuple(CellType() for _ in code.co_freevars))
        self.compiled = family.frame(self._example)

    def _made(self, cells: tuple[Any, ...]) -> FunctionType:
        return FunctionType(self._code, self._scope, self._code.co_name, None, cells or None)

    def function(self, cells: tuple[Any, ...]) -> FunctionType:
        """The function with these cells, which are those of its free variables."""
        return self._made(cells) if cells else self._example


class Continuation:
    """Carries out what follows a graph."""

    def __init__(self, split: Split, family: Family) -> None:
        self.split, self.family = split, family
        self._step = None if split.step is None else FunctionType(split.step, split.scope)
        self._next = Rest(split.next, split.scope, family)
        self._jump = None if split.jump is None else Rest(split.jump, split.scope, family)

    def finish(self, values: Any) -> Any:
        """The function's result, of what the instruction takes, what the rest needs besides, and the cells."""
        after: Continuation | None = self
        while after is not None:
            rest, args = after._carried_out(*values[:2])
            function = rest.function(values[2])
            if after.split.stop.rest_is_eager:
                return function(*args)
            arguments = dict(zip(rest.names, args, strict=True))
            entry = rest.compiled.entry(arguments, function)
            if entry is None:
                return function(*args)
            try:
                values, after = entry.result(arguments, function), entry.rest
            except Failed:
                return function(*args)
        return values

    def _carried_out(self, taken: tuple[Any, ...], kept: tuple[Any, ...]) -> tuple[Rest, tuple[Any, ...]]:
        """Runs the instruction. Returns where the function goes on, and the arguments of that."""
        split = self.split
        if self._step is None:
            return self._next, kept
        if split.calls:
            taken = (self.family.through(taken[0]), *taken[1:])
        result = self._step(*taken)
        if split.jumps_if is None:
            return self._next, (*kept, result) if split.pushes else kept
        if result is split.jumps_if:  # the step gives the opposite of the condition
            return self._next, kept
        assert self._jump is not None
        return self._jump, (*kept, *taken) if split.keeps else kept
