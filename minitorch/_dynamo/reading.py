"""What captured code reads: globals, attributes, items. Each read of something outside leaves a guard."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from minitorch._dynamo.effects import Effects
from minitorch._dynamo.exc import Break
from minitorch._dynamo.recording import FORBIDDEN, PLAIN, GraphRecorder, is_method, is_operation
from minitorch._dynamo.values import (
    Bound,
    Cell,
    Function,
    Items,
    Known,
    Lazy,
    Mapping,
    Method,
    Partial,
    Scope,
    Steps,
    Symbol,
    TensorValue,
    Value,
)  # fmt: skip
from minitorch.devices import cpu
from minitorch.library.operators import OpNamespace, OpOverloadPacket
from minitorch.nn.modules.container import ModuleDict, ModuleList, Sequential
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor

CONTAINERS = (Sequential, ModuleList, ModuleDict)
SPECIAL: dict[Any, Callable[[Any, list[Value], dict[str, Value]], Value]] = {}
"""Functions that capture carries out itself: see `calling`."""

PARTS = "func", "args", "keywords"
_GRADIENT = {"T", "mT", "H", "mH", "real", "imag"}
"""Attributes that are operations."""


class Reading(GraphRecorder):
    """How values from outside are looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols: set[str] = set()
        self.effects = Effects(self.guards, False)
        self._seen: dict[str, Value] = {}

    def looked_at(self, value: Value) -> Value:
        if not isinstance(value, Lazy):
            return value
        assert value.source is not None
        if value.source not in self._seen:
            self._seen[value.source] = self._wrapped(value.value, value.source)
        return self._seen[value.source]

    def _wrapped(self, value: Any, source: str) -> Value:
        kind = type(value)
        if isinstance(value, Tensor):
            return self.tensor(value, source)
        if kind is int and source in self.symbols and value not in (0, 1):
            self.guards.add(f"type({source}) is int and {source} not in (0, 1)", "TYPE_MATCH", source)
            self.has_symbols = True
            return Symbol(self.placeholder(source, value), value, source)
        if kind is float and source in self.symbols and math.isfinite(value):
            self.guards.add(f"type({source}) is float", "TYPE_MATCH", source)
            self.has_symbols = True
            return Symbol(self.placeholder(source, value), value, source)
        if kind in PLAIN and kind is not slice:
            self.guards.equal(source, value)
            return Known(value, source)
        if kind is tuple or kind is list:
            length = f"type({source}) is {kind.__name__} and len({source}) == {len(value)}"
            known = self.effects.known(value, source) if kind is list else None
            if known is not None:
                return known
            self.guards.add(length, "SEQUENCE_LENGTH", source)
            made = Items(kind, [Lazy(each, f"{source}[{i}]") for i, each in enumerate(value)], source)
            return self.effects.add(value, made) if kind is list else made
        if kind is dict and all(type(key) in (str, int) for key in value):
            known = self.effects.known(value, source)
            if known is not None:
                return known
            self.guards.add(f"type({source}) is dict and list({source}) == {list(value)!r}", "DICT_KEYS", source)
            items: dict[Any, Value] = {key: Lazy(each, f"{source}[{key!r}]") for key, each in value.items()}
            return self.effects.add(value, Mapping(items, source))
        if kind is MethodType:
            self.guards.add(f"type({source}) is {self.guards.constant(MethodType, 't')}", "TYPE_MATCH", source)
            owner = self.looked_at(Lazy(value.__self__, f"{source}.__self__"))
            return Method(self.looked_at(Lazy(value.__func__, f"{source}.__func__")), owner, source)
        if kind is FunctionType and not is_operation(value) and value not in SPECIAL:
            self._same_function(value, source)
            return self.function(value, source)
        if kind is functools.partial:
            self.guards.add(f"type({source}) is {self.guards.constant(kind, 't')}", "TYPE_MATCH", source)
            function, args, named = (Lazy(getattr(value, each), f"{source}.{each}") for each in PARTS)
            return Partial(function, args, named, source)
        self.guards.same(source, value)
        return Known(value, source)

    def _same_function(self, value: Any, source: str) -> None:
        """Guards a function: itself, or where functions are made anew in each call, its defaults and globals."""
        if not source.startswith("L[") and "__closure__" not in source:
            self.guards.same(source, value)
            return
        self.guards.add(f"type({source}) is {self.guards.constant(FunctionType, 't')}", "TYPE_MATCH", source)
        self.guards.add(f"len({source}.__defaults__ or ()) == {len(value.__defaults__ or ())}", "CLOSURE_MATCH", source)
        self.guards.add(
            f"[*({source}.__kwdefaults__ or ())] == {[*(value.__kwdefaults__ or ())]}", "CLOSURE_MATCH", source
        )
        self.guards.add(
            f"{source}.__globals__ is {self.guards.constant(value.__globals__, 'G')}", "CLOSURE_MATCH", source
        )

    def function(self, value: Any, source: str) -> Function:
        """A Python function from outside, with its cells and defaults."""
        cells: list[Cell] = []
        for i, each in enumerate(value.__closure__ or ()):
            found = f"{source}.__closure__[{i}]"
            content = Lazy(each.cell_contents, f"{found}.cell_contents") if _is_full(each) else None
            cells.append(self.effects.known(each, found) or self.effects.add(each, Cell(content, found)))
        self.guards.add(f"{source}.__code__ is {self.guards.constant(value.__code__)}", "ID_MATCH", source)
        defaults = [Lazy(each, f"{source}.__defaults__[{i}]") for i, each in enumerate(value.__defaults__ or ())]
        named: dict[str, Value] = {}
        for key, each in (value.__kwdefaults__ or {}).items():
            named[key] = Lazy(each, f"{source}.__kwdefaults__[{key!r}]")
        scope = Scope(value.__globals__, self.guards.constant(value.__globals__, "G"))
        return Function(value.__code__, scope, tuple(defaults), named, tuple(cells), value, source)

    def constant(self, value: Any) -> Value:
        """A constant of the code."""
        return Items(tuple, [self.constant(each) for each in value]) if type(value) is tuple else Known(value)

    def plain(self, value: Value) -> Any:
        """The value as Python's. Raises Break where it isn't known; what may change is fixed by a guard."""
        value = self.looked_at(value)
        if isinstance(value, Symbol):
            self.guards.add(f"{value.source} == {value.hint}", "EQUALS_MATCH", value.source)
            return value.hint
        if isinstance(value, Known) and (value.source is None or isinstance(value.value, PLAIN)):
            return value.value
        if isinstance(value, Items) and value.kind is not slice:
            items = [self.plain(each) for each in value.items]
            return items if value.kind is list else tuple(items)
        if isinstance(value, TensorValue):
            raise Break("Python needs the data of a tensor")
        raise Break("Python needs the value of an object that is not a constant")

    def key(self, value: Value) -> Any:
        """The value as a key of a dict."""
        return self.plain(value)

    def global_of(self, scope: Scope, name: str) -> Value:
        """A global variable, or a builtin that none hides."""
        if (id(scope.names), name) in self.effects.written:
            return self.effects.written[id(scope.names), name]
        if name in scope.names:
            return Lazy(scope.names[name], f"{scope.source}[{name!r}]")
        if not hasattr(builtins, name):
            raise Break(f"name '{name}' is not defined")
        self.guards.add(f"{name!r} not in {scope.source}", "DICT_CONTAINS", name)
        return Known(getattr(builtins, name))

    # Attributes

    def attribute(self, value: Value, name: str) -> Value:
        """What `value.name` gives."""
        if isinstance(value, TensorValue):
            return self._of_tensor(value, name)
        if isinstance(value, Items) and name in (fields := getattr(value.kind, "_fields", ())):
            return value.items[fields.index(name)]
        if isinstance(value, (Items, Mapping, Steps)):
            return Bound(name, value)
        if isinstance(value, Known):
            return self._of_object(value, name)
        raise Break(f"reads the attribute {name} of a {type(value).__name__.lower()}")

    def _of_tensor(self, value: TensorValue, name: str) -> Value:
        if name == "shape":
            return Items(type(value.fake.shape), [self.size(value, dim) for dim in range(value.fake.ndim)])
        if name in ("dtype", "ndim", "layout", "requires_grad"):
            return Known(getattr(value.fake, name))
        if name == "device":
            return Known(cpu)
        if name in ("is_cuda", "is_meta", "is_sparse", "is_quantized"):
            return Known(False)
        if name in _GRADIENT:
            return self.record("call_function", getattr, [value, Known(name)], {})
        if is_method(name) or name in FORBIDDEN:
            return Bound(name, value)
        raise Break(f"Tensor.{name} is not captured")

    def _of_object(self, value: Known, name: str) -> Value:
        owner, source = value.value, value.source
        if (id(owner), name) in self.effects.written:
            return self.effects.written[id(owner), name]
        if isinstance(owner, ModuleType):
            return self._of_module(owner, name, source)
        if isinstance(owner, str):
            return Bound(name, value)
        if isinstance(owner, (OpNamespace, OpOverloadPacket)):
            return Lazy(getattr(owner, name), f"{source}.{name}")
        if source is None or isinstance(owner, (type, FunctionType, BuiltinFunctionType)):
            found = getattr(owner, name, None)
            own = type(owner).__module__.partition(".")[0] in ("minitorch", "torch")
            if own and isinstance(found, (*PLAIN, FunctionType)):
                return Known(found) if isinstance(found, PLAIN) else Bound(name, value)
            raise Break(f"reads the attribute {name} of {type(owner).__name__}")
        kind = type(owner)
        if "__getattribute__" in {name for each in kind.__mro__[:-1] for name in vars(each)}:
            raise Break(f"{kind.__name__} has a __getattribute__ of its own")
        self.guards.add(f"type({source}) is {self.guards.constant(kind, 't')}", "TYPE_MATCH", source)
        found = self._in_class(kind, name)
        if found is not None and hasattr(type(found), "__set__"):  # a property comes before what the object has
            return self._of_class(value, name, found)
        attributes = getattr(owner, "__dict__", {})
        if name in attributes:
            if found is not None:
                self._unchanged(kind, name)
            return Lazy(attributes[name], f"{source}.__dict__[{name!r}]")
        if found is not None:
            return self._of_class(value, name, found)
        if isinstance(owner, Module) and kind.__getattr__ is Module.__getattr__:
            for part in ("_parameters", "_buffers", "_modules"):
                if name in attributes[part]:
                    return Lazy(attributes[part][name], f"{source}.{part}[{name!r}]")
        raise Break(f"'{kind.__name__}' object has no attribute '{name}' that capture can read")

    def _in_class(self, kind: type, name: str) -> Any:
        """What a class or its bases have under a name. That users' classes before it have nothing becomes a guard."""
        for each in kind.__mro__:
            if name in each.__dict__:
                return each.__dict__[name]
            if each.__module__.partition(".")[0] not in ("minitorch", "torch", "builtins"):
                self.guards.add(f"{name!r} not in {self.guards.constant(each, 't')}.__dict__", "DICT_CONTAINS", name)
        return None

    def _unchanged(self, kind: type, name: str) -> str:
        """Guards what a class has under a name. Returns how it is found."""
        holder = next(each for each in kind.__mro__ if name in each.__dict__)
        source = f"{self.guards.constant(holder, 't')}.__dict__[{name!r}]"
        self.guards.same(source, holder.__dict__[name])
        return source

    def _of_module(self, owner: ModuleType, name: str, source: str | None) -> Value:
        if (id(vars(owner)), name) in self.effects.written:
            return self.effects.written[id(vars(owner)), name]
        if source is None or not (name in vars(owner) or owner.__name__.partition(".")[0] in ("minitorch", "torch")):
            raise Break(f"reads {name} of the module {owner.__name__}")
        return Lazy(getattr(owner, name), f"{source}.{name}")

    def _of_class(self, value: Known, name: str, found: Any) -> Value:
        """What a class gives its object: methods and constants."""
        kind = type(value.value)
        source = self._unchanged(kind, name)
        self.guards.add(f"{name!r} not in {value.source}.__dict__", "DICT_CONTAINS", name)
        if isinstance(found, FunctionType):
            return Method(self.looked_at(Lazy(found, source)), value)
        if isinstance(found, staticmethod):
            return Lazy(found.__func__, f"{source}.__func__")
        if isinstance(found, property) and isinstance(found.fget, FunctionType):
            return self.call(self.looked_at(Lazy(found.fget, f"{source}.fget")), [value], {})
        if isinstance(found, PLAIN) or type(found) in (tuple, list, dict):
            return Lazy(found, source)
        raise Break(f"reads the attribute {name}, a {type(found).__name__} of {kind.__name__}")

    def call(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """The result of a call."""
        raise NotImplementedError


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
