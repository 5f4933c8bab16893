"""What a function does to Python objects from outside: it happens after the graph, in the order of eager mode.

Capture carries on with what the objects would contain. Source: torch/_dynamo/side_effects.py
"""

from __future__ import annotations

from typing import Any

from minitorch._dynamo.exc import Break
from minitorch._dynamo.guards import Guards
from minitorch._dynamo.results import Writer
from minitorch._dynamo.values import Cell, Items, Mapping, Value
from minitorch._inductor.steps import NAMES

SURE = {
    *NAMES,
    "batch_norm",
    "dropout",
    "instance_norm",
    "max_pool2d",
    "fill",
    "zero",
    "lt",
    "le",
    "eq",
    "ne",
    "gt",
    "ge",
}
"""Operations that can't fail for any values of tensors whose metadata fit."""

WRITES_BUFFERS = ("batch_norm", "instance_norm")


class Effects:
    """The effects of one capture.

    Args:
        guards: gets the conditions under which objects are the same, or different ones.
        allowed: whether there may be effects; else each of them raises Break.
    """

    def __init__(self, guards: Guards, allowed: bool) -> None:
        self.guards, self.allowed = guards, allowed
        self.written: dict[tuple[int, str], Value] = {}
        self._log: list[tuple[str, tuple[Value, ...]]] = []
        self._seen: dict[int, tuple[Any, Items | Mapping | Cell]] = {}
        self._changed: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._log)

    def known(self, value: Any, source: str) -> Any:
        """What is known already of a list, dict or cell, under another name; None if it is new."""
        _, made = self._seen.get(id(value), (None, None))
        if made is not None:
            self.guards.add(f"{source} is {made.source}", "DUPLICATE_INPUT", source)
        return made

    def add(self, value: Any, made: Items | Mapping | Cell) -> Any:
        """Remembers what capture makes of a list, dict or cell."""
        for key in self._changed:
            self._differ(made, self._seen[key][1])
        self._seen[id(value)] = value, made
        return made

    def _differ(self, one: Value, other: Value) -> None:
        if type(one) is type(other) and one is not other:
            self.guards.add(f"{one.source} is not {other.source}", "DUPLICATE_INPUT", one.source)

    def change(self, what: str, template: str, target: Value, *operands: Value) -> None:
        """Notes a change of a list, dict or cell, if it is from outside. The template's first field is the object.

        Raises Break if there may be no effects.
        """
        if target.source is None:
            return
        self.do(what, template, target, *operands)
        key = next(key for key, (_, made) in self._seen.items() if made is target)
        if key not in self._changed:
            self._changed.add(key)
            for _, made in self._seen.values():
                self._differ(target, made)

    def do(self, what: str, template: str, *operands: Value) -> None:
        """Notes an effect, as a template for Python's code and the values of its fields."""
        if not self.allowed:
            raise Break(what)
        self._log.append((template, operands))

    def write(self, writer: Writer, result: str) -> str:
        """Writes the effects behind the code that makes all values. Returns an expression for the result."""
        if not self._log:
            return result
        lines = [
            (template, [writer.variable(writer.text(each)) for each in operands]) for template, operands in self._log
        ]
        result = writer.variable(result)
        writer.lines += [template.format(*names) for template, names in lines]
        return result


def writes_buffers(node: Any) -> bool:
    """Whether an operation writes to an argument though its name doesn't say so."""
    return _name(node) in WRITES_BUFFERS or node.kwargs.get("max_norm") is not None


def can_fail(node: Any) -> bool:
    """Whether an operation may fail for some values of its tensors."""
    name = _name(node)
    if name in ("getitem", "setitem"):
        return len(node.all_input_nodes) > (1 if name == "getitem" else 2)
    operator = getattr(node.target, "__module__", "") == "_operator"
    return not {name, name.rstrip("_"), name[1:] if operator else name} & SURE


def _name(node: Any) -> str:
    return node.target if isinstance(node.target, str) else node.target.__name__
