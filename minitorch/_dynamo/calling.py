"""Calls in captured code: functions of Python's that are known to have no effect, tensor operations, modules, and
functions that are captured in turn.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minitorch._dynamo.containers import Containers
from minitorch._dynamo.exc import Break
from minitorch._dynamo.generators import Generated, GeneratorFrame
from minitorch._dynamo.machine import Frame
from minitorch._dynamo.reading import SPECIAL
from minitorch._dynamo.recording import PLAIN, is_method, is_operation
from minitorch._dynamo.values import (
    Bound,
    Context,
    Function,
    Items,
    Known,
    Mapping,
    Method,
    Partial,
    Steps,
    Symbol,
    TensorValue,
    Value,
)  # fmt: skip
from minitorch.autograd import grad_mode
from minitorch.dtypes import finfo, iinfo
from minitorch.library.custom_op import CustomOpDef
from minitorch.nn.modules import hooks
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.size import Size
from minitorch.tensor import Tensor

PURE: tuple[Any, ...] = (
    int, float, bool, complex, str, abs, round, divmod, pow, ord, chr, hash, repr, finfo, iinfo, range, slice,
)  # fmt: skip
"""Functions of constants that have no effect."""

MOST_CALLS = 200
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
GLOBAL_HOOKS = ("forward_pre_hooks", "forward_hooks", "backward_pre_hooks", "backward_hooks", "node_backward_hooks")


class Calling(Containers):
    """How calls are captured."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.steps = 0

    def count(self, most: int) -> None:
        """Counts an instruction. Raises Break where there are too many."""
        self.steps += 1
        if self.steps > most:
            raise Break("the function takes too many steps")

    def call(self, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
        function = self.looked_at(function)
        if isinstance(function, Function):
            return self.inline(function, args, kwargs)
        if isinstance(function, Method):
            return self.call(function.function, [function.owner, *args], kwargs)
        if isinstance(function, Partial):
            named = self.looked_at(function.named)
            assert isinstance(named, Mapping)
            return self.call(
                function.function, [*self.iterator(function.args).rest(), *args], {**named.items, **kwargs}
            )
        args = [self.looked_at(each) for each in args]
        kwargs = {key: self.looked_at(each) for key, each in kwargs.items()}
        if isinstance(function, Bound):
            return self._method(function, args, kwargs)
        if not isinstance(function, Known):
            raise Break(f"calls a {type(function).__name__.lower()}")
        value = function.value
        if isinstance(value, Module):
            return self._module(function, args, kwargs)
        special = SPECIAL.get(value) if isinstance(value, (type, FunctionType, type(len))) else None
        if special is not None:
            return special(self, args, kwargs)
        value = value._opoverload if isinstance(value, CustomOpDef) else value
        if is_operation(value):
            return self.record("call_function", value, args, kwargs)
        if (value is int or value is float) and len(args) == 1 and isinstance(args[0], Symbol) and not kwargs:
            return self.converted(value, args[0])
        if any(value is each for each in PURE) or getattr(math, getattr(value, "__name__", ""), None) is value:
            values = [self.plain(each) for each in args]
            options = {key: self.plain(each) for key, each in kwargs.items()}
            if not all(isinstance(each, PLAIN) for each in (*values, *options.values())):
                raise Break(f"calls {value.__name__} of an object")
            try:
                return self.constant(value(*values, **options))
            except Exception as error:
                raise Break(f"{type(error).__name__}: {error}") from None
        raise Break(f"calls {getattr(value, '__qualname__', type(value).__name__)}, which may have effects")

    # Functions

    def inline(self, function: Function, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Runs a Python function in capture."""
        value = function.value
        if getattr(value, "_torchdynamo_disable", False):
            raise Break(f"calls {value.__qualname__}, which is disabled")
        if self.depth > MOST_CALLS:
            raise Break("the calls are nested too deeply")
        if function.code.co_name == "<genexpr>":
            return Generated(GeneratorFrame(self, function, bound(function, args, kwargs)))  # type: ignore[arg-type]
        self.depth += 1
        try:
            return Frame(self, function, bound(function, args, kwargs)).run()  # type: ignore[arg-type]
        finally:
            self.depth -= 1

    def _module(self, function: Known, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Calls a module without hooks: its `forward`."""
        self.check_hooks(function)
        return self.call(self.attribute(function, "forward"), args, kwargs)

    def check_hooks(self, function: Known) -> None:
        """Raises Break for a module with hooks, or with a `__call__` of its own."""
        module = function.value
        kind = type(module)
        if kind.__call__ is not Module.__call__:
            raise Break(f"{kind.__name__} has a __call__ of its own")
        for name in HOOKS:
            if module.__dict__.get(name):
                raise Break(f"the module {kind.__name__} has hooks")
            self.guards.add(f"not {function.source}.{name}", "NO_HOOKS", function.source)
        everybodys = self.guards.constant(hooks, "m")
        for name in GLOBAL_HOOKS:
            if getattr(hooks, name):
                raise Break("there are hooks for all modules")
            self.guards.add(f"not {everybodys}.{name}", "NO_HOOKS", None)

    # Methods

    def _method(self, function: Bound, args: list[Value], kwargs: dict[str, Value]) -> Value:
        owner, name = function.owner, function.name
        if isinstance(owner, TensorValue):
            if not is_method(name):
                raise Break(f"calls Tensor.{name}, which is not captured")
            if name == "size" and not kwargs:
                shape = self.attribute(owner, "shape")
                return self.item(shape, args[0]) if args else shape
            return self.record("call_method", name, [owner, *args], kwargs)
        if isinstance(owner, Context):
            owner.leave()
            return Known(None)
        if isinstance(owner, Items) and owner.kind is list and name in ("append", "extend", "insert", "pop", "reverse"):
            return self.method_of_list(owner, name, args)
        if isinstance(owner, Items) and issubclass(owner.kind, Size) and name == "numel":
            return self.constant(math.prod(self.plain(owner)))
        if isinstance(owner, Mapping) and name in ("keys", "values", "items", "get") and not kwargs:
            return self.method_of_dict(owner, name, args)
        if isinstance(owner, Mapping) and name in ("update", "pop", "setdefault"):
            return self.write_to_dict(owner, name, args, kwargs)
        if isinstance(owner, Known) and isinstance(owner.value, str):
            try:
                return self.constant(getattr(owner.value, name)(*map(self.plain, args)))
            except Exception as error:
                raise Break(f"{type(error).__name__}: {error}") from None
        raise Break(f"calls the method {name}")


def bound(function: Function, args: list[Value], kwargs: dict[str, Value]) -> dict[str, Value]:
    """The variables of a function that is called with these arguments. Raises Break where they don't fit."""
    code = function.code
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    variables = dict(zip(names[:count], args, strict=False))
    rest = args[count:]
    options = dict(kwargs)
    for name in names[: count + only]:
        if name in options and name not in names[: code.co_posonlyargcount]:
            if name in variables:
                raise Break(f"{code.co_name}() got multiple values for argument '{name}'")
            variables[name] = options.pop(name)
    defaults = dict(zip(names[count - len(function.defaults) : count], function.defaults, strict=True))
    for name, default in {**defaults, **function.kwdefaults}.items():
        variables.setdefault(name, default)
    missing = [name for name in names[: count + only] if name not in variables]
    if missing:
        raise Break(f"{code.co_name}() is missing the arguments {', '.join(missing)}")
    place = count + only
    if code.co_flags & inspect.CO_VARARGS:
        variables[names[place]] = Items(tuple, rest)
        place += 1
    elif rest:
        raise Break(f"{code.co_name}() takes {count} arguments, not {len(args)}")
    if code.co_flags & inspect.CO_VARKEYWORDS:
        variables[names[place]] = Mapping(options)
    elif options:
        raise Break(f"{code.co_name}() got an unexpected keyword argument '{next(iter(options))}'")
    return variables


def special(*functions: Any) -> Callable[[Any], Any]:
    """Says how capture carries out functions."""

    def add(handler: Any) -> Any:
        SPECIAL.update((each, handler) for each in functions)
        return handler

    return add


@special(len)
def _len(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = args
    if isinstance(value, TensorValue) and value.fake.ndim:
        return capture.size(value, 0)
    if isinstance(value, (Items, Mapping)):
        return Known(len(value.items))
    if isinstance(value, Known) and isinstance(value.value, Module):
        return Known(len(capture.modules(value)))
    return Known(len(capture.plain(value)))


@special(isinstance)
def _isinstance(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, kinds = args
    listed = list(kinds.items) if isinstance(kinds, Items) else [kinds]
    classes = [capture.looked_at(each).value for each in listed]  # type: ignore[attr-defined]
    if not all(type(each) is type or each in (Tensor, Parameter) for each in classes):
        raise Break("isinstance with a class that may answer itself")
    if isinstance(value, TensorValue):
        if any(issubclass(each, Parameter) for each in classes):
            raise Break("isinstance of a Parameter")
        kind: type = Tensor
    else:
        kind = kind_of(value)
    return Known(issubclass(kind, tuple(classes)))


@special(type)
def _type(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = args
    if isinstance(value, TensorValue):
        raise Break("the type of a tensor")
    return Known(kind_of(value))


def kind_of(value: Value) -> type:
    """The type of a value that is no tensor."""
    if isinstance(value, Known):
        return type(value.value)
    if isinstance(value, Symbol):
        return type(value.hint)
    if isinstance(value, Items):
        return value.kind
    if isinstance(value, Mapping):
        return dict
    raise Break("the type of a function")


def _sequence(kind: type) -> Any:
    return lambda capture, args, kwargs: Items(kind, list(capture.iterator(args[0]).rest()) if args else [])


SPECIAL[list], SPECIAL[tuple] = _sequence(list), _sequence(tuple)


@special(dict)
def _dict(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if args and not isinstance(args[0], Mapping):
        raise Break("dict of something that is no dict")
    return Mapping({**(args[0].items if args else {}), **kwargs})  # type: ignore[attr-defined]


@special(enumerate)
def _enumerate(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    start = capture.plain(args[1]) if len(args) > 1 else capture.plain(kwargs["start"]) if kwargs else 0
    items = _all_at_once(capture, args[0])
    return Steps([Items(tuple, [Known(start + i), each]) for i, each in enumerate(items)])


def _all_at_once(capture: Calling, value: Value) -> list[Value]:
    """The values of an iterator that doesn't compute them as they are asked for."""
    steps = capture.iterator(value)
    if isinstance(steps, Generated):
        raise Break("an iterator over a generator expression")
    return steps.rest()


@special(zip)
def _zip(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if kwargs:
        raise Break("zip with strict=")
    columns = [_all_at_once(capture, each) for each in args]
    return Steps([Items(tuple, list(row)) for row in zip(*columns, strict=False)])


@special(reversed)
def _reversed(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], Steps):
        raise Break("reversed of an iterator")
    return Steps(capture.iterator(args[0]).rest()[::-1])


@special(sum)
def _sum(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    total: Value = args[1] if len(args) > 1 else Known(0)
    steps = capture.iterator(args[0])
    while (each := steps.next()) is not None:
        total = capture.operator("add", total, capture.looked_at(each))
    return total


def _extremum(function: Any) -> Any:
    def handler(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if kwargs:
            raise Break(f"{function.__name__} with a key")
        return Known(function(*map(capture.plain, args)))

    return handler


SPECIAL[min], SPECIAL[max] = _extremum(min), _extremum(max)


@special(getattr)
def _getattr(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 2:
        raise Break("getattr with a default")
    return capture.looked_at(capture.attribute(args[0], capture.plain(args[1])))


@special(functools.partial)
def _partial(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Partial(args[0], Items(tuple, args[1:]), Mapping(kwargs))


@special(callable)
def _callable(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Known(isinstance(args[0], (Function, Method)) or callable(capture.plain(args[0])))


def _mode(enabled: bool | None) -> Any:
    """`no_grad()` and its kin: a context whose ends are nodes, and which sets the mode for capture, too."""

    def make(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
        asked = capture.plain(args[0]) if enabled is None else enabled
        before: list[bool] = []

        def switch(to: bool) -> None:
            capture.graph.call_function(grad_mode.set_grad_enabled, (to,))
            grad_mode.state.set(to, grad_mode.state.inference)

        def enter() -> None:
            before.append(grad_mode.is_grad_enabled())
            switch(asked)

        return Context(enter, lambda: switch(before.pop()))

    return make


SPECIAL[grad_mode.no_grad], SPECIAL[grad_mode.enable_grad] = _mode(False), _mode(True)


@special(grad_mode.is_grad_enabled)
def _is_grad_enabled(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Known(grad_mode.is_grad_enabled())
