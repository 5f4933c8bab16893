"""What `help` and `inspect` show of generated functions: PyTorch's parameters, and where they are declared.

`inspect.getsource`, and editors likewise, go by `__wrapped__` from a function to its declaration. The code itself stays
where it is: a traceback shows what runs.

The parameters are worked out when somebody asks, since hundreds of functions are generated and few are asked about.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from minitorch.dispatch.op import Op
from minitorch.dispatch.schema import REQUIRED

_NONE: Mapping[str, Any] = {}
_POSITIONAL, _NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


class Described:
    """Stands as `__wrapped__` in a generated function, where `inspect` looks for a `__signature__`."""

    __slots__ = ("__wrapped__", "annotations", "parameters")

    def __init__(self, parameters: Callable[[], Iterable[inspect.Parameter]], source: Callable[..., Any]) -> None:
        self.parameters = parameters
        source = inspect.unwrap(source)
        self.annotations = source.__annotations__
        outer, inside, _ = source.__code__.co_qualname.partition(".<locals>")
        # What is made inside a function is shown with it. The copy of what describes itself leads no further.
        self.__wrapped__ = source.__globals__[outer] if inside else FunctionType(source.__code__, source.__globals__)

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
        for position, (name, default) in enumerate(zip(op.schema.parameters, op.schema.defaults, strict=True)):
            kind = _NAMED if position >= op.schema.keyword_only_from else _POSITIONAL
            yield _parameter(first if name == "self" else name, default, kind)
        if inplace:
            yield _INPLACE
        yield from (_parameter(name, default) for name, default in keywords.items())

    function.__wrapped__ = Described(parameters, op.kernel)


def describe(
    function: Any,
    source: Callable[..., Any],
    *,
    skip: int = 0,
    first: str = "",
    inplace: bool = False,
    keywords: Mapping[str, Any] = _NONE,
    shown: Callable[..., Any] | None = None,
) -> None:
    """Has `inspect` find the parameters that `source` is written with, without `skip` at the beginning and a `**` at
    the end, but with `first` before them, and behind them `inplace` and more keywords; and its declaration, or that of
    `shown`."""

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

    function.__wrapped__ = Described(parameters, shown or source)


def describe_operator(method: Any, kernel: Callable[..., Any]) -> None:
    """Has `inspect` find the declaration of the op that a special method runs, and the method's own parameters."""

    def parameters() -> Iterable[inspect.Parameter]:
        return inspect.signature(method, follow_wrapped=False).parameters.values()

    method.__wrapped__ = Described(parameters, kernel)
