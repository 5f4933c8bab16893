"""What a function returns, or leaves on its stack and in its variables, as Python code that makes it again.

The code reads the graph's outputs `O`, the arguments `L`, the function `F` and constants.
Source: torch/_dynamo/codegen.py
"""

from __future__ import annotations

import functools
from types import CellType, FunctionType, MethodType
from typing import Any

from minitorch._dynamo.exc import Break
from minitorch._dynamo.guards import Guards
from minitorch._dynamo.values import (
    Bound,
    Cell,
    Function,
    Items,
    Known,
    Mapping,
    Method,
    Partial,
    Symbol,
    TensorValue,
    Value,
)  # fmt: skip


class Writer:
    """Writes the code. `outputs` are the nodes whose results it needs.

    An object that occurs twice is made once, and stays the same object.
    """

    def __init__(self, guards: Guards) -> None:
        self.guards = guards
        self.outputs: list[Any] = []
        self.lines: list[str] = []
        self._made: dict[int, str] = {}
        self._open: set[int] = set()

    def text(self, value: Value) -> str:
        """An expression for a value. Raises Break where there is none."""
        if value.source is not None and (not isinstance(value, Symbol) or value.node.op == "placeholder"):
            return value.source
        if isinstance(value, Known):
            return self.guards.constant(value.value)
        if isinstance(value, (TensorValue, Symbol)):
            return self._output(value)
        if id(value) in self._open:
            raise Break("an object that contains itself")
        if id(value) not in self._made:
            self._open.add(id(value))
            made = self._new(value)
            self._open.remove(id(value))
            self._made[id(value)] = f"v{len(self._made)}"
            self.lines.append(f"{self._made[id(value)]} = {made}")
        return self._made[id(value)]

    def variable(self, text: str) -> str:
        """The name of a variable that has the value of an expression."""
        name = f"w{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def cell(self, value: Cell) -> str:
        """An expression for a cell, which functions share."""
        return value.source or self.text(value)

    def _output(self, value: TensorValue | Symbol) -> str:
        if value.node not in self.outputs:
            self.outputs.append(value.node)
        return f"O[{self.outputs.index(value.node)}]"

    def _new(self, value: Value) -> str:
        """An expression that makes a new object."""
        if isinstance(value, Items):
            inner = "".join(f"{self.text(each)}, " for each in value.items)
            if value.kind in (list, tuple):
                return f"[{inner}]" if value.kind is list else f"({inner})"
            kind = self.guards.constant(value.kind, "t")
            return f"{kind}({inner})" if hasattr(value.kind, "_fields") or value.kind is slice else f"{kind}(({inner}))"
        if isinstance(value, Mapping):
            pairs = (f"{self.guards.constant(key)}: {self.text(each)}, " for key, each in value.items.items())
            return f"{{{''.join(pairs)}}}"
        if isinstance(value, Bound):
            return f"{self.text(value.owner)}.{value.name}"
        if isinstance(value, Method):
            kind = self.guards.constant(MethodType, "t")
            return f"{kind}({self.text(value.function)}, {self.text(value.owner)})"
        if isinstance(value, Partial):
            parts = self.text(value.function), self.text(value.args), self.text(value.named)
            return f"{self.guards.constant(functools.partial, 't')}({parts[0]}, *{parts[1]}, **{parts[2]})"
        if isinstance(value, Cell):
            content = "" if value.content is None else self.text(value.content)
            return f"{self.guards.constant(CellType, 't')}({content})"
        if isinstance(value, Function):
            return self._function(value)
        raise Break(f"there is no code that makes a {type(value).__name__.lower()}")

    def _function(self, value: Function) -> str:
        """A function that the captured function has defined."""
        cells = "".join(f"{self.cell(each)}, " for each in value.cells)
        defaults = "".join(f"{self.text(each)}, " for each in value.defaults)
        made = (
            f"{self.guards.constant(FunctionType, 't')}({self.guards.constant(value.code)}, {value.scope.source}, None"
        )
        made += f", ({defaults}) or None, ({cells}) or None)"
        named = "".join(f"{key!r}: {self.text(each)}, " for key, each in value.kwdefaults.items())
        if not named and value.annotations is None:
            return made
        pairs = "()" if value.annotations is None else self.text(value.annotations)
        return f"{self.guards.constant(_completed)}({made}, {{{named}}}, {pairs})"


def _completed(function: FunctionType, named: dict[str, Any], pairs: tuple[Any, ...]) -> FunctionType:
    """The function, with its keyword-only defaults and its annotations, as names and values in turn."""
    if named:
        function.__kwdefaults__ = named
    function.__annotations__.update(zip(pairs[::2], pairs[1::2], strict=True))
    return function
