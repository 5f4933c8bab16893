"""Whether the functions that an exercise asks for are called while its check runs."""

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import numpy as np

from course.learner.install import find_part

_DATA = (NoneType, int, float, complex, str, bytes, bytearray, range, np.generic, np.ndarray, ModuleType)
_MOST = 10_000  # objects, those of data aside, that are looked at to find the functions in one


class Witness:
    """Knows the code of some functions, and sees the first call of one of them.

    A function is known by its code, so decorators, partial functions, methods and instances need no care: whatever can
    be reached from a value counts as that value, and the check uses the value itself.
    """

    def __init__(self, record: Callable[[FrameType, str, Any], None] | None = None) -> None:
        """
        Args:
            record: another profile function, which sees all that is called.
        """
        self.called: bool | None = False
        """Whether one was called; None if that was not seen, but there is one that cannot be watched."""
        self._codes: dict[int, CodeType] = {}
        self._record = record

    def watch(self, value: Any, scope: dict[str, Any]) -> None:
        """Watch the functions of a value that were defined in `scope`; if it can be called, all of its functions.

        A callable whose call runs no Python code (NumPy's, for example) cannot be watched.
        """
        self._add(value, None if callable(value) else scope)
        if callable(value) and not _runs_python(value):
            self.called = self.called or None

    def watch_part(self, part: str) -> None:
        """Watch a part of a package that was just imported."""
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

    def _add(self, value: Any, scope: dict[str, Any] | None) -> bool:
        """Watch the functions of a value (those of `scope`, if one is given); whether there are any."""
        found = [each for each in _functions(value) if scope is None or each.__globals__ is scope]
        self._codes |= {id(each.__code__): each.__code__ for each in found}
        return bool(found)

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._record is not None:
            self._record(frame, event, argument)
        if event == "call" and id(frame.f_code) in self._codes:
            self.called = True
            if self._record is None:
                self._stop()

    def _stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def _runs_python(value: Any) -> bool:
    """Whether a call of this begins in Python code."""
    match value:
        case FunctionType():
            return True
        case MethodType():
            return _runs_python(value.__func__)
        case functools.partial():
            return _runs_python(value.func)
    entries = [(type(value), "__call__")]
    if isinstance(value, type):
        entries += [(value, "__new__"), (value, "__init__")]
    return any(isinstance(getattr(holder, name, None), FunctionType) for holder, name in entries)


def _functions(value: Any) -> Iterator[FunctionType]:
    """The Python functions that a value consists of, through wrappers, classes, containers and attributes.

    The nearest come first, so that a large table beside them hides none.
    """
    waiting, seen, looked_at = deque([value]), {id(value): value}, 0
    while waiting and looked_at < _MOST:
        each, looked_at = waiting.popleft(), looked_at + 1
        if isinstance(each, FunctionType):
            yield each
        for inner in _inside(each):
            if not isinstance(inner, _DATA) and id(inner) not in seen:
                seen[id(inner)] = inner
                waiting.append(inner)


def _inside(value: Any) -> Iterator[Any]:
    yield type(value)
    match value:
        case type():
            for each in value.__mro__[:-1]:
                yield from vars(each).values()
            return
        case FunctionType():
            yield from map(_content, value.__closure__ or ())
        case MethodType():
            yield from (value.__func__, value.__self__)
        case staticmethod() | classmethod():
            yield value.__func__
        case property():
            yield from (value.fget, value.fset, value.fdel)
        case functools.partial():
            yield from (value.func, *value.args, *value.keywords.values())
        case dict():
            yield from value.values()
        case list() | tuple() | set() | frozenset():
            yield from value
    yield from getattr(value, "__dict__", {}).values()


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None
