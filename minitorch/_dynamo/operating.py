"""Operators, items, loops and truth in captured code."""

from __future__ import annotations

import math
import operator
from types import FunctionType
from typing import Any

from minitorch._dynamo.exc import Break, NeedsStatic
from minitorch._dynamo.reading import CONTAINERS, Reading
from minitorch._dynamo.recording import PLAIN
from minitorch._dynamo.values import Function, Items, Known, Lazy, Mapping, Method, Steps, Symbol, TensorValue, Value
from minitorch.nn.modules.module import Module

ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"}
OUTSIDE = "writes to a list or dict from outside the function"
COMPARING = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}


class Operating(Reading):
    """What Python's syntax does with values, apart from reads of attributes and calls."""

    def operator(self, name: str, *operands: Value) -> Value:
        """The result of an operator, whose name is that of the function in `operator`."""
        function = getattr(operator, name)
        if any(isinstance(each, TensorValue) for each in operands):
            return self.record("call_function", function, list(operands), {})
        if any(isinstance(each, Symbol) for each in operands):
            return self._of_symbols(name, *operands)
        first = operands[0]
        if name == "iadd" and isinstance(first, Items) and first.kind is list:
            rest = self.iterator(operands[1]).rest()
            self.effects.change(OUTSIDE, "{0}.extend({1})", first, Items(list, rest))
            first.items += rest
            return first
        base = name[1:] if name.startswith("i") and hasattr(operator, name[1:]) and name != "invert" else name
        if base in ("add", "mul") and isinstance(first, Items) and first.kind in (list, tuple):
            other = operands[1]
            if base == "add" and isinstance(other, Items) and other.kind is first.kind:
                return Items(first.kind, [*first.items, *other.items])
            if base == "mul":
                return Items(first.kind, first.items * self.plain(other))
        if base == "or_" and all(isinstance(each, Mapping) for each in operands):
            raise Break("the union of two dicts")
        values = [self.plain(each) for each in operands]
        if not all(_is_plain(each) for each in values):
            raise Break(f"the operator {name} of objects that are not constants")
        try:
            return self.constant(getattr(operator, base)(*values))
        except Exception as error:
            raise Break(f"{type(error).__name__}: {error}") from None

    def _of_symbols(self, name: str, *operands: Value) -> Value:
        """An operator of numbers that may change: it becomes a node, or a guard where it is a comparison."""
        base = name[1:] if name[0] == "i" and name[1:] in ARITHMETIC else name
        known = [each for each in operands if isinstance(each, Symbol) or _is_number(getattr(each, "value", None))]
        if len(known) < len(operands) or len(operands) != 2 or base not in {*ARITHMETIC, *COMPARING}:
            return self.operator(name, *(Known(self.plain(each)) for each in operands))
        hints = [each.hint if isinstance(each, Symbol) else each.value for each in operands]  # type: ignore[attr-defined]
        texts = [each.source if isinstance(each, Symbol) else repr(each.value) for each in operands]  # type: ignore[attr-defined]
        try:
            hint = getattr(operator, base)(*hints)
        except ZeroDivisionError:
            raise Break("division by zero") from None
        if base in ("truediv", "floordiv", "mod"):
            self.guards.add(f"{texts[1]} != 0", "SHAPE_ENV", None)
        if base in COMPARING:
            self.guards.add(f"({texts[0]} {COMPARING[base]} {texts[1]}) is {hint}", "SHAPE_ENV", None)
            return Known(hint)
        nodes = tuple(self.argument(each, True) for each in operands)
        node = self.graph.call_function(getattr(operator, base), nodes)
        return Symbol(node, hint, f"({texts[0]} {ARITHMETIC[base]} {texts[1]})")

    def converted(self, kind: type, value: Symbol) -> Symbol:
        """`int` or `float` of a number that may change."""
        if type(value.hint) is kind:
            return value
        try:
            hint = kind(value.hint)
        except (OverflowError, ValueError) as error:
            raise Break(str(error)) from None
        self.guards.add(f"{value.source} - {value.source} == 0", "SHAPE_ENV", None)  # finite
        return Symbol(self.graph.call_function(kind, (value.node,)), hint, f"{kind.__name__}({value.source})")

    def truth(self, value: Value) -> bool:
        """What `if` makes of a value."""
        if isinstance(value, TensorValue):
            raise Break("Data-dependent branching: generic_jump TensorVariable()")
        if isinstance(value, Symbol):
            self.guards.add(f"({value.source} != 0) is {value.hint != 0}", "SHAPE_ENV", None)
            return value.hint != 0
        if isinstance(value, (Items, Mapping)):
            return bool(value.items)
        if isinstance(value, (Function, Method)):
            return True
        if isinstance(value, Known) and _is_plain(value.value):
            return bool(value.value)
        if isinstance(value, Known) and isinstance(value.value, (type, FunctionType)):
            return True
        if isinstance(value, Known) and not any(hasattr(type(value.value), each) for each in ("__bool__", "__len__")):
            return True
        raise Break("the truth of an object that decides it itself")

    def is_none(self, value: Value) -> bool:
        """Whether a value is None."""
        return isinstance(value, Known) and value.value is None

    def identical(self, value: Value, other: Value) -> bool:
        """What `is` says."""
        if isinstance(value, TensorValue) and isinstance(other, TensorValue):
            return value.fake is other.fake
        if isinstance(value, Known) and isinstance(other, Known):
            singles = (type(None), bool, type(...), type)
            plain = isinstance(value.value, PLAIN) and not isinstance(value.value, singles)
            if plain and type(value.value) is type(other.value):
                raise Break("`is` of two constants")
            return value.value is other.value
        if type(value) is type(other) and not isinstance(value, TensorValue):
            raise Break("`is` of two objects")
        return False

    def contains(self, container: Value, value: Value) -> bool:
        """What `in` says."""
        if isinstance(container, Mapping):
            return self.plain(value) in container.items
        found = self.plain(container)
        if not _is_plain(found):
            raise Break("`in` of an object that is no container of constants")
        return self.plain(value) in found

    def slice(self, parts: list[Value]) -> Value:
        """A slice: a constant if its ends are."""
        parts = [self.looked_at(each) for each in parts]
        if all(isinstance(each, Known) for each in parts):
            return Known(slice(*(self.plain(each) for each in parts)))
        return Items(slice, parts)

    def item(self, value: Value, index: Value) -> Value:
        """What `value[index]` gives."""
        if isinstance(value, TensorValue):
            return self.record("call_function", operator.getitem, [value, index], {})
        if isinstance(value, Mapping):
            key = self.plain(index)
            if key not in value.items:
                raise Break(f"KeyError: {key!r}")
            return value.items[key]
        place = self.plain(index)
        if isinstance(value, Items):
            try:
                found = value.items[place]
            except (IndexError, TypeError) as error:
                raise Break(str(error)) from None
            kind = value.kind if value.kind in (list, tuple) else tuple
            return Items(kind, found) if isinstance(found, list) else found
        if isinstance(value, Known) and isinstance(value.value, CONTAINERS):
            return self._submodule(value, place)
        plain = self.plain(value)
        if isinstance(plain, (str, bytes, range)):
            try:
                return Known(plain[place])
            except (IndexError, TypeError) as error:
                raise Break(str(error)) from None
        raise Break(f"an item of an object of type {type(plain).__name__}")

    def _submodule(self, value: Known, place: Any) -> Value:
        modules = self.modules(value)
        if isinstance(place, str) and place in modules:
            return modules[place]
        if isinstance(place, int) and -len(modules) <= place < len(modules):
            return list(modules.values())[place]
        raise Break("a slice of a container of modules")

    def modules(self, value: Known) -> dict[str, Value]:
        """The modules of a container, in order. Which there are becomes a guard."""
        owner: Module = value.value
        if type(owner).__module__.removeprefix("mini") != "torch.nn.modules.container":
            raise Break(f"the container {type(owner).__name__} may say itself what it contains")
        keys = list(owner._modules)
        self.guards.add(f"list({value.source}._modules) == {keys!r}", "DICT_KEYS", value.source)
        return {key: Lazy(owner._modules[key], f"{value.source}._modules[{key!r}]") for key in keys}

    def iterator(self, value: Value) -> Steps:
        """What `for` goes through."""
        value = self.looked_at(value)
        if isinstance(value, Steps):
            return value
        if isinstance(value, Items) and value.kind is not slice:
            return Steps(value.items)
        if isinstance(value, Mapping):
            return Steps([Known(key) for key in value.items])
        if isinstance(value, TensorValue):
            if self.has_symbols:
                raise NeedsStatic
            if not value.fake.ndim:
                raise Break("iteration over a 0-d tensor")
            rows = range(value.fake.shape[0])
            return Steps([self.record("call_function", operator.getitem, [value, Known(row)], {}) for row in rows])
        if isinstance(value, Known) and isinstance(value.value, CONTAINERS):
            modules = self.modules(value)
            names = type(value.value).__name__ == "ModuleDict"
            return Steps([Known(key) for key in modules] if names else list(modules.values()))
        plain = self.plain(value)
        if isinstance(plain, (str, range, tuple, list)):
            return Steps([Known(each) for each in plain])
        raise Break(f"iteration over an object of type {type(plain).__name__}")

    def set_item(self, target: Value, index: Value, value: Value) -> None:
        """What `target[index] = value` does."""
        if isinstance(target, TensorValue):
            self.record("call_function", operator.setitem, [target, index, value], {})
        elif isinstance(target, Mapping):
            key = self.plain(index)
            self.effects.change(OUTSIDE, "{0}[{1}] = {2}", target, Known(key), value)
            target.items[key] = value
        elif isinstance(target, Items) and target.kind is list:
            place = self.plain(index)
            if not isinstance(place, int) or not -len(target.items) <= place < len(target.items):
                raise Break("assigns to a slice of a list, or past its end")
            self.effects.change(OUTSIDE, "{0}[{1}] = {2}", target, Known(place), value)
            target.items[place] = value
        else:
            raise Break("assigns to an item of an object from outside the function")


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(_is_plain(each) for each in value)
    return isinstance(value, (*PLAIN, range))
