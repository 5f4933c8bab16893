"""Functions replaced while a program is traced, so that those which get a proxy are recorded and not run.

Minitorch's functions know tensors alone. While a trace runs, the modules in which programs find them hold wrappers
that look for a proxy among the arguments; PyTorch's tracer does so with the functions of `math`, with those that
`wrap` names, and with two methods of `Module`. Source: torch/fx/_symbolic_trace.py.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from minitorch.fx.names import is_known, normalized
from minitorch.fx.node import map_aggregate
from minitorch.fx.proxy import Proxy

MISSING = object()


def find_proxy(*values: Any) -> Proxy | None:
    """A proxy somewhere in tuples, lists, dicts or slices, if there is one."""
    found: list[Proxy] = []
    map_aggregate(values, lambda each: found.append(each) if isinstance(each, Proxy) else None)
    return found[-1] if found else None


def recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls with proxies are recorded instead."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        if is_known(function):
            args, kwargs = normalized(function, args, kwargs)
            return proxy.tracer.create_proxy("call_function", function, args, kwargs)
        recorded = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        recorded.node.meta["is_wrapped"] = True
        return recorded

    return wrapped


def recording_operator(call: Callable[..., Any]) -> Callable[..., Any]:
    """The `__call__` of operators, which are recorded as they are."""

    def wrapped(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return call(self, *args, **kwargs)
        return proxy.tracer.create_proxy("call_function", self, args, kwargs)

    return wrapped


class Patcher:
    """Replaces names in scopes and attributes of types until the `with` block ends."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()

    def patch(self, scope: dict[str, Any], name: str, new: Any) -> None:
        """Replaces a name in the dictionary of a module; it may be that of a builtin."""
        before = scope.get(name, MISSING)
        scope[name] = new
        self._undo.append(lambda: scope.pop(name) if before is MISSING else scope.__setitem__(name, before))

    def patch_method(self, kind: type, name: str, new: Any) -> None:
        """Replaces a method."""
        before = getattr(kind, name)
        setattr(kind, name, new)
        self._undo.append(lambda: setattr(kind, name, before))

    def wrap_functions(self, scope: dict[str, Any], functions: dict[Any, Any]) -> None:
        """Replaces the public names of a scope whose functions are among `functions` by those that record."""
        if id(scope) in self._seen:
            return
        self._seen.add(id(scope))
        for name, value in list(scope.items()):
            if not name.startswith("_") and callable(value) and id(value) in functions:
                self.patch(scope, name, recording(value))

    def wrap_named(self, scope: dict[str, Any], name: str) -> None:
        """Replaces a function that the program has named with `wrap`."""
        self.patch(scope, name, recording(scope[name] if name in scope else getattr(builtins, name)))

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        while self._undo:
            self._undo.pop()()
