"""What `help` and `inspect` show of generated functions: PyTorch's parameters, and where they are declared.

The parameters are worked out when somebody asks, since hundreds of functions are generated and few are asked about.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from minitorch.dispatch.op import REQUIRED, Op

_NONE: Mapping[str, Any] = {}
_POSITIONAL, _NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


class Described:
    """Stands as `__wrapped__` in a generated function, where `inspect` looks for a `__signature__`."""

    __slots__ = ("__wrapped__", "parameters")

    def __init__(self, parameters: Callable[[], Iterable[inspect.Parameter]], source: Callable[..., Any]) -> None:
        self.parameters = parameters
        self.__wrapped__ = source

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature(list(self.parameters()))


def _parameter(name: str, default: Any, kind: Any = _NAMED) -> inspect.Parameter:
    return inspect.Parameter(name, kind, default=inspect.Parameter.empty if default is REQUIRED else default)


_INPLACE = _parameter("inplace", False, _POSITIONAL)


def describe_op(
    function: Any, op: Op, first: str = "input", *, inplace: bool = False, keywords: Mapping[str, Any] = _NONE
) -> None:
    """Has `inspect` find the parameters of an op's public form, the first named `first`, after which may come `inplace`
    and more keywords."""

    def parameters() -> Iterable[inspect.Parameter]:
        for position, (name, default) in enumerate(zip(op.parameters, op.defaults, strict=True)):
            kind = _NAMED if position >= op.keyword_only_from else _POSITIONAL
            yield _parameter(first if name == "self" else name, default, kind)
        if inplace:
            yield _INPLACE
        yield from (_parameter(name, default) for name, default in keywords.items())

    function.__wrapped__ = Described(parameters, op.kernel)
    place(function, op.kernel)


def describe(
    function: Any,
    source: Callable[..., Any],
    *,
    skip: int = 0,
    first: str = "",
    inplace: bool = False,
    keywords: Mapping[str, Any] = _NONE,
) -> None:
    """Has `inspect` find the parameters that `source` is written with, without `skip` at the beginning and a `**` at
    the end, but with `first` before them, and behind them `inplace` and more keywords."""

    def parameters() -> Iterable[inspect.Parameter]:
        signature = inspect.signature(source, follow_wrapped=source is not function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD][skip:]
        if first:
            yield _parameter(first, REQUIRED, _POSITIONAL)
        yield from own
        if inplace:
            yield _INPLACE
        present = {each.name for each in own}
        yield from (_parameter(name, default) for name, default in keywords.items() if name not in present)

    itself = source is function
    function.__wrapped__ = Described(parameters, FunctionType(source.__code__, {}) if itself else source)
    if not itself:
        place(function, source)


def place(function: Any, source: Callable[..., Any]) -> None:
    """Has a generated function say that it stands where its source does, where editors, `inspect` and readers of
    tracebacks look for it."""
    while hasattr(source, "__wrapped__"):
        source = source.__wrapped__
    code, size = source.__code__, len(function.__code__.co_code) // 2
    lines = b"".join(bytes((0xE8 + min(size - start, 8) - 1, 0)) for start in range(0, size, 8))
    function.__code__ = function.__code__.replace(
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_linetable=lines,  # all of it is on that line. See Objects/locations.md in CPython's source
    )
