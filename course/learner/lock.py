"""Locks: while a learner's version of a part is installed, the package's own version of it cannot be called."""

import functools
import gc
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

MESSAGE = "the original is locked while yours is installed"


@dataclass
class _Held:
    """What a locked function computes with when it is free, where that was read from, and how many locks hold it."""

    code: CodeType
    file: str
    target: str
    locks: int = 0


_held: dict[FunctionType, _Held] = {}
_mutex = threading.RLock()
_at_work: int | None = None  # the thread that locks or frees: it alone may give a locked function another code


@contextmanager
def locked(original: Any, target: str) -> Iterator[None]:
    """Make `original` raise, whoever calls it, by whatever name, until the context is closed.

    The function object itself gets another code, so a name imported before, a closure, a default argument and the
    garbage collector's list all lead to the locked one. So do copies of it. Its module's file cannot be executed, and a
    function cannot be made of its code.

    Functions that it wraps are locked too, and of a class all functions, methods and properties. What has no Python
    code (a value, a NumPy function) is left as it is.

    This is no sandbox: whoever reads the original's source and executes the text under another name has a copy that
    no lock in the same process finds.

    Args:
        original: what `target` was.
        target: "module:path", for the messages.
    """
    _install_hook()
    functions: list[FunctionType] = []
    try:
        with _working():
            for function in functions_of(original, target.partition(":")[2]):
                code = function.__code__
                held = _held.setdefault(function, _Held(code, os.path.realpath(code.co_filename), target))
                held.locks += 1
                functions.append(function)
                if held.locks == 1:
                    function.__code__ = raising(code, f"{target}: {MESSAGE}")
        yield
    finally:
        with _working():
            for function in functions:
                _held[function].locks -= 1
                if not _held[function].locks:
                    function.__code__ = _held.pop(function).code


@contextmanager
def _working() -> Iterator[None]:
    global _at_work
    with _mutex:
        _at_work = threading.get_ident()
        try:
            yield
        finally:
            _at_work = None


def functions_of(part: Any, path: str) -> list[FunctionType]:
    """The functions that a part consists of, and their copies; `path` is its name in its module."""
    return _with_copies({*_functions(part, path)})


def _functions(part: Any, path: str) -> Iterator[FunctionType]:
    """The functions that a part consists of; `path` is its name in its module."""
    if isinstance(part, type):
        for name, value in vars(part).items():
            if name != "__del__" and not isinstance(value, type):  # an old object may be freed meanwhile
                yield from _functions(value, f"{path}.{name}")
    elif isinstance(part, property):
        for accessor in (part.fget, part.fset, part.fdel):
            yield from _functions(accessor, path)
    elif isinstance(part, (staticmethod, classmethod)):
        yield from _functions(part.__func__, path)
    elif isinstance(part, FunctionType):
        yield part
        for cell in part.__closure__ or ():
            if isinstance(inner := _content(cell), FunctionType) and inner.__qualname__ == path:
                yield from _functions(inner, path)
    if "__wrapped__" in getattr(part, "__dict__", {}):  # in the dict itself: an object may answer to any name
        yield from _functions(part.__dict__["__wrapped__"], path)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _with_copies(functions: set[FunctionType]) -> list[FunctionType]:
    """The functions, and all others of the same code: of a second import of the file, or made by `FunctionType`."""
    # A decorator's inner functions share one code, whatever they decorate.
    own = [code for code in map(_code, functions) if "<locals>" not in code.co_qualname]
    names = {code.co_qualname for code in own}
    found = (each for each in gc.get_objects() if type(each) is FunctionType)
    same = {each for each in found if _code(each).co_qualname in names and _code(each) in own}
    return [*(functions | same)]


def _code(function: FunctionType) -> CodeType:
    return _held[function].code if function in _held else function.__code__


def raising(code: CodeType, message: str) -> CodeType:
    """A code that takes any arguments and raises, to take the place of `code` in a function."""
    template = _template(len(code.co_freevars))
    return template.replace(co_consts=tuple(message if each == _MESSAGE else each for each in template.co_consts))


_MESSAGE = "the message"


@functools.cache
def _template(free: int) -> CodeType:
    """A code that raises, with as many free variables as a function demands."""
    names = [f"free{number}" for number in range(free)]
    text = f"""
def around({", ".join(names)}):
    def original(*_, **__):
        raise RuntimeError({_MESSAGE!r})
        ({"".join(f"{name}, " for name in names)})
    return original
"""
    scope: dict[str, Any] = {}
    exec(compile(text, __file__, "exec"), scope)
    code: CodeType = scope["around"](*names).__code__
    return code


@functools.cache
def _install_hook() -> None:
    sys.addaudithook(_audit)  # for good: there is no way to remove one


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what would make the code of a locked function callable again."""
    if not _held or _at_work == threading.get_ident():
        return
    if event == "exec" and isinstance(arguments[0], CodeType) and arguments[0].co_name == "<module>":
        name = arguments[0].co_filename
        _refuse(held for held in _all_held() if _same_file(name, held.file))
    elif event == "function.__new__":
        _refuse(held for held in _all_held() if held.code == arguments[0])
    elif event == "object.__setattr__" and arguments[1] == "__code__":
        _refuse(held for held in _all_held() if held.code == arguments[2])
        if arguments[0] in _held:
            _refuse([_held[arguments[0]]])


def _all_held() -> list[_Held]:
    return list(_held.values())


def _same_file(name: str, real: str) -> bool:
    return os.path.basename(name) == os.path.basename(real) and os.path.realpath(name) == real


def _refuse(held: Iterable[_Held]) -> None:
    for each in held:
        raise RuntimeError(f"{each.target}: {MESSAGE}; its file and its code do not run meanwhile")
