"""ATen's names of operations: what PyTorch's exported graphs call.

An overload such as `torch.ops.aten.sum.dim_IntList` is named here by a table, and runs minitorch's function of that
name. Source: aten/src/ATen/native/native_functions.yaml
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import minitorch
from minitorch.fx.node import Node
from minitorch.library import operators
from minitorch.library.operators import OpOverloadPacket

OPERATORS = {
    "truediv": "div", "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "mod": "remainder",
    "floordiv": "floor_divide", "invert": "bitwise_not",
}  # fmt: skip
"""Python's operators under other names."""

TENSOR_OR_SCALAR = {"eq", "ne", "lt", "le", "gt", "ge"}
BINARY = {"add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_", "remainder"}
BY_DIM = {"sum": "dim_IntList", "mean": "dim", "max": "dim", "min": "dim", "any": "dim", "all": "dim", "squeeze": "dim"}
FIXED = {
    "softmax": "int", "log_softmax": "int", "transpose": "int", "select": "int", "flatten": "using_ints",
    "std": "correction", "var": "correction", "unflatten": "int", "split": "Tensor", "sym_size": "int",
}  # fmt: skip
VARIADIC = {"expand", "flip", "permute", "repeat", "reshape", "view"}
"""Methods whose integers are written as a list."""

POOLS = {"avg_pool2d", "max_pool2d"}
"""Functions whose windows are written as two numbers."""

LISTS = {"amax", "amin", "mean", "sum"}
"""Reductions whose dimension is written as a list."""


class OpOverload:
    """An ATen operation. Calling it runs minitorch's function."""

    def __init__(self, packet: str, overload: str) -> None:
        self.packet, self.overload = packet, overload
        self.__name__, self.__module__ = f"{packet}.{overload}", "minitorch.ops.aten"
        self._function = implementation(packet)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.packet}', overload='{self.overload}')>"

    def __deepcopy__(self, memo: dict[int, Any]) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return overload, (self.packet, self.overload)


overload = functools.cache(OpOverload)
"""The one object for an operation of this name and overload."""


class AtenNamespace:
    """`torch.ops.aten` and what is below it, in generated code."""

    def __init__(self, *path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        path = (*object.__getattribute__(self, "_path"), name)
        return overload(*path[1:]) if len(path) == 3 else AtenNamespace(*path)


def implementation(packet: str) -> Callable[..., Any]:
    """minitorch's function of an operation's name. Raises AttributeError where there is none."""
    if packet == "sym_size":
        return lambda tensor, dim: tensor.shape[dim]
    layers = importlib.import_module("minitorch.nn.functional")
    if packet == "embedding":
        return lambda weight, indices: layers.embedding(indices, weight)
    for place in (layers, minitorch, minitorch.Tensor):
        function: Callable[..., Any] | None = getattr(place, packet, None)
        if callable(function):
            return function
    raise AttributeError(f"there is no operation aten::{packet}")


def named(node: Node) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None:
    """The operation that a node calls, and its arguments as ATen writes them; None where the table has no name."""
    if isinstance(node.target, OpOverloadPacket) and len(node.target.overloads()) == 1:
        return getattr(node.target, node.target.overloads()[0]), node.args, node.kwargs
    if isinstance(node.target, operators.OpOverload):
        return node.target, node.args, node.kwargs
    name = node.target if isinstance(node.target, str) else node.target.__name__
    packet = OPERATORS.get(name, name)
    args, kwargs = _without_defaults(node)
    if not args or not isinstance(args[0], (Node, list, tuple)):
        return None  # a number comes first
    try:
        function = overload(packet, _overload(packet, args, kwargs))
    except AttributeError:
        return None
    if packet in LISTS and len(args) > 1 and isinstance(args[1], int):
        args = (args[0], [args[1]], *args[2:])
    if packet in VARIADIC and len(args) > 1:
        sizes = args[1:] if not isinstance(args[1], (list, tuple)) else args[1]
        args = (args[0], list(sizes))
    if packet in POOLS:
        args = (args[0], *([each] * 2 if type(each) is int else each for each in args[1:3]), *args[3:])
    if packet == "embedding":
        if len(args) > 2 or kwargs:
            return None
        args = args[1], args[0]
    return function, tuple(map(_listed, args)), kwargs


def _overload(packet: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    second_is_tensor = len(args) > 1 and isinstance(args[1], Node) and "example_value" in args[1].meta
    if packet in TENSOR_OR_SCALAR:
        return "Tensor" if second_is_tensor else "Scalar"
    if packet == "pow":
        return "Tensor_Tensor" if second_is_tensor else "Tensor_Scalar"
    if packet in BINARY:
        return "Tensor"
    if packet in BY_DIM and (len(args) > 1 or "dim" in kwargs):
        return BY_DIM[packet]
    return FIXED.get(packet, "default")


def _without_defaults(node: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments by position, without those at the end that are the defaults."""
    args, kwargs = node.args, node.kwargs
    target = getattr(minitorch.Tensor, node.target, None) if isinstance(node.target, str) else node.target
    try:
        signature = inspect.signature(target)  # type: ignore[arg-type]
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not all(signature.parameters[key].kind in positional for key in bound.arguments):
        return args, kwargs
    bound.apply_defaults()
    given = list(bound.arguments.items())
    while given and _is_default(given[-1][1], signature.parameters[given[-1][0]].default):
        given.pop()
    return tuple(value for _, value in given), {}


def _is_default(value: Any, default: Any) -> bool:
    if type(value) is tuple and type(default) is int:
        return all(type(each) is int and each == default for each in value)
    simple = isinstance(value, (bool, int, float, str)) and type(value) is type(default)
    return value is default or (simple and value == default)


def _listed(value: Any) -> Any:
    """A tuple of numbers as a list, as ATen writes sizes."""
    is_numbers = type(value) is tuple and all(type(each) is int or isinstance(each, Node) for each in value)
    return list(value) if is_numbers else value
