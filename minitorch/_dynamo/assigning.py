"""Assignments to attributes and globals in captured code, whose effects wait for the end of the graph."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

from minitorch._dynamo.exc import Break
from minitorch._dynamo.operating import Operating
from minitorch._dynamo.values import Known, Scope, TensorValue, Value
from minitorch.nn.modules.module import Module

PARTS = ("_parameters", "_buffers", "_modules")


class Assigning(Operating):
    """How attributes and globals are assigned."""

    def set_global(self, scope: Scope, name: str, value: Value) -> None:
        """What `global name; name = value` does."""
        self.effects.do(f"assigns to the global {name}", f"{scope.source}[{name!r}] = {{0}}", value)
        self.effects.written[id(scope.names), name] = value

    def set_attribute(self, owner: Value, name: str, value: Value) -> None:
        """What `owner.name = value` does, if it only sets an item of the object's `__dict__`."""
        what = f"assigns to the attribute {name}"
        if not isinstance(owner, Known) or owner.source is None or not self._is_settable(owner, name, value):
            raise Break(what)
        self.effects.do(what, f"{{0}}.{name} = {{1}}", owner, value)
        self.effects.written[id(owner.value), name] = value

    def _is_settable(self, owner: Known, name: str, value: Value) -> bool:
        found: Any = owner.value
        kind = type(found)
        if isinstance(found, (type, ModuleType, FunctionType, BuiltinFunctionType)) or not hasattr(found, "__dict__"):
            return False
        self.guards.add(f"type({owner.source}) is {self.guards.constant(kind, 't')}", "TYPE_MATCH", owner.source)
        if hasattr(type(self._in_class(kind, name)), "__set__"):
            return False
        if not isinstance(found, Module):
            return cast(Any, kind).__setattr__ is object.__setattr__
        registered = name in found._parameters or name in found._modules
        registered = registered or (name in found._buffers and not isinstance(value, TensorValue))
        registers = isinstance(value, TensorValue) and value.source is not None  # it may be a parameter
        registers = registers or (isinstance(value, Known) and isinstance(value.value, Module))
        for part in PARTS:
            now = name in getattr(found, part)
            self.guards.add(f"({name!r} in {owner.source}.{part}) is {now}", "DICT_CONTAINS", owner.source)
        return cast(Any, kind).__setattr__ is Module.__setattr__ and not (
            registered or registers or name.startswith("_")
        )
