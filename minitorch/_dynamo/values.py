"""What capture knows of the values that Python computes with.

Each value says how the next call finds it again, as an expression on the function's arguments: its *source*. What
the function itself has made has none.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from minitorch.fx.node import Node
from minitorch.tensor import Tensor


class Value:
    """A value on the stack or in a variable of the function that is captured."""

    source: str | None = None


class Lazy(Value):
    """An object from outside that nobody has looked at: it gets a guard when somebody does."""

    def __init__(self, value: Any, source: str) -> None:
        self.value, self.source = value, source


class Known(Value):
    """An object that is the same in every call for which the guards hold."""

    def __init__(self, value: Any, source: str | None = None) -> None:
        self.value, self.source = value, source


class TensorValue(Value):
    """A tensor: the node that makes it, and a tensor of the same metadata without data."""

    def __init__(self, node: Node, fake: Tensor, source: str | None = None) -> None:
        self.node, self.fake, self.source = node, fake, source


class Symbol(Value):
    """A number that may be another in the next call: its node, its value in this call, and an expression for it."""

    def __init__(self, node: Node, hint: Any, source: str) -> None:
        self.node, self.hint, self.source = node, hint, source


class Items(Value):
    """A list or tuple, or a named one, of values."""

    def __init__(self, kind: type, items: list[Value], source: str | None = None) -> None:
        self.kind, self.items, self.source = kind, items, source


class Mapping(Value):
    """A dict of values, whose keys are known."""

    def __init__(self, items: dict[Any, Value], source: str | None = None) -> None:
        self.items, self.source = items, source


class Function(Value):
    """A Python function, with the scope of its globals and its cells; the function itself, if it is from outside."""

    def __init__(
        self,
        code: CodeType,
        scope: Scope,
        defaults: tuple[Value, ...],
        kwdefaults: dict[str, Value],
        cells: tuple[Cell, ...],
        value: Any = None,
        source: str | None = None,
        annotations: Value | None = None,
    ) -> None:
        self.code, self.scope, self.defaults, self.kwdefaults, self.cells = code, scope, defaults, kwdefaults, cells
        self.value, self.source, self.annotations = value, source, annotations


class Scope:
    """The globals of a function, and what guards call them."""

    def __init__(self, names: dict[str, Any], source: str) -> None:
        self.names, self.source = names, source


class Bound(Value):
    """A method and what it is bound to; or a special call that capture carries out."""

    def __init__(self, name: str, owner: Value) -> None:
        self.name, self.owner = name, owner


class Method(Value):
    """A Python function bound to its first argument."""

    def __init__(self, function: Value, owner: Value, source: str | None = None) -> None:
        self.function, self.owner, self.source = function, owner, source


class Partial(Value):
    """A `functools.partial` of a function, a sequence of arguments and a dict of named ones."""

    def __init__(self, function: Value, args: Value, named: Value, source: str | None = None) -> None:
        self.function, self.args, self.named, self.source = function, args, named, source


class Steps(Value):
    """An iterator over values that are all known to exist."""

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.at = 0

    def next(self) -> Value | None:
        """The next one, or None at the end."""
        self.at += 1
        return self.items[self.at - 1] if self.at <= len(self.items) else None

    def rest(self) -> list[Value]:
        """What it has not yielded yet, which it yields now."""
        rest, self.at = self.items[self.at :], len(self.items)
        return rest


class Cell(Value):
    """A variable that functions share."""

    def __init__(self, content: Value | None = None, source: str | None = None) -> None:
        self.content, self.source = content, source


class Context(Value):
    """A context manager that sets a mode: what it does when it is entered, and when it is left."""

    def __init__(self, enter: Callable[[], Any], leave: Callable[[], Any]) -> None:
        self.enter, self.leave = enter, leave


class Null(Value):
    """What the interpreter puts below a function that isn't a method."""


NULL = Null()
