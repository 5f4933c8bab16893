"""Whether the functions that an exercise asks for are called while its check runs."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType
from typing import Any

import numpy as np

_PLAIN = (FunctionType, MethodType, BuiltinFunctionType, functools.partial, np.ufunc)
_MOST = 10_000  # objects that are looked at to find the functions in one


class Witness:
    """Knows the code of some functions, and sees the first call of one of them.

    A function is known by its code, so decorators, partial functions, methods and instances need no care: whatever of
    the learner's can be reached from a value counts as that value.
    """

    def __init__(self) -> None:
        self.called: bool | None = False
        """Whether one was called; None if there was one that cannot be watched."""
        self._codes: dict[int, CodeType] = {}

    def watch(self, value: Any, scope: dict[str, Any]) -> Any:
        """Watch the functions of a value that were defined in `scope`; gives the value that the check shall use.

        A function without such code (NumPy's, or another package's) is watched by a stand-in that calls it.
        """
        if not self._add(value, scope) and isinstance(value, _PLAIN):
            return self._counted(value)
        return value

    def watch_part(self, part: str) -> None:
        """Watch a part of a package that was just imported."""
        from course.check import find_part

        is_formula = ".derivative." in part.replace(":", ".")  # it stands in a table, and has no name of its own
        if is_formula or not self._add(find_part(part), vars(sys.modules[part.partition(":")[0]])):
            self.called = self.called or None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread, and those that are started meanwhile, until a call was seen."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            yield
        finally:
            self._stop()

    def _add(self, value: Any, scope: dict[str, Any]) -> bool:
        codes = {id(each.__code__): each.__code__ for each in _functions(value) if each.__globals__ is scope}
        self._codes |= codes
        return bool(codes)

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.called = True
            return function(*arguments, **keywords)

        return counted

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and id(frame.f_code) in self._codes:
            self.called = True
            self._stop()

    def _stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def _functions(value: Any) -> Iterator[FunctionType]:
    """The Python functions that a value consists of, through wrappers, classes, containers and attributes."""
    waiting, seen = [value], {id(value): value}
    while waiting and len(seen) < _MOST:
        each = waiting.pop()
        if isinstance(each, FunctionType):
            yield each
        for inner in _inside(each):
            if id(inner) not in seen:
                seen[id(inner)] = inner
                waiting.append(inner)


def _inside(value: Any) -> list[Any]:
    match value:
        case type():
            return [inner for each in value.__mro__[:-1] for inner in vars(each).values()]
        case FunctionType():
            return [*map(_content, value.__closure__ or ()), *vars(value).values()]
        case MethodType():
            return [value.__func__, value.__self__]
        case staticmethod() | classmethod():
            return [value.__func__]
        case property():
            return [value.fget, value.fset, value.fdel]
        case functools.partial():
            return [value.func, *value.args, *value.keywords.values()]
        case dict():
            return list(value.values())
        case list() | tuple():
            return list(value)
        case None | bool() | int() | float() | str() | bytes() | np.ndarray():
            return []
    return [type(value), *getattr(value, "__dict__", {}).values()]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None
