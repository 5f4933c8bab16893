"""Stand-ins for values, which record what is done with them.

Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Proxy
"""

from __future__ import annotations

import dis
import enum
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from minitorch.devices import device
from minitorch.dtypes import dtype
from minitorch.fx.codegen import MAGIC, REFLECTABLE
from minitorch.fx.graph import Graph
from minitorch.fx.node import BASE_TYPES, Node, nodes_in
from minitorch.layout import layout, memory_format
from minitorch.tensor import Tensor


class TraceError(ValueError):
    """The program does with a value what only a number could do, such as deciding an `if`."""


_PLAIN = (*BASE_TYPES, dtype, device, memory_format, layout, type(None), type(...), enum.Enum, Tensor)


class TracerBase:
    """Adds nodes to a graph, and hands out proxies for them."""

    graph: Graph

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Adds a node. Subclasses may record more, or refuse."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for a node's result."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Proxy:
        """Adds a node with arguments that may contain proxies. Returns the stand-in for its result."""
        return self.proxy(
            self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        )

    def create_arg(self, a: Any) -> Any:
        """An argument as nodes keep it: nodes in place of proxies. Raises NotImplementedError for other objects."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple):
            items = [self.create_arg(each) for each in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(each) for key, each in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if isinstance(a, _PLAIN):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        if not isinstance(key, str):
            key = self.create_arg(key)
            if any(True for _ in nodes_in(key)):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """What `if` makes of a proxy. Raises TraceError; subclasses may know a value."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What `for` makes of a proxy. Raises TraceError; subclasses may know the values."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """What `**` makes of a proxy."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that exists already."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A stand-in for a node's result. Operators, methods, attributes and functions of it add nodes.

    It can't be iterated, has no length, and can't decide an `if`.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        at = next(each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti)
        if at.opname == "UNPACK_SEQUENCE":  # `a, b = proxy` says how many there are
            return (self[i] for i in range(at.argval))
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What `**` asks a mapping for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __getitem__(self, index: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, index), {})

    __hash__ = object.__hash__


class Attribute(Proxy):
    """An attribute of a proxy. It becomes a node when it is used, unless it is called: then it is a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(name: str) -> Callable[..., Proxy]:
    def method(self: Proxy, *others: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (self, *others), {})

    return method


def _reflected(name: str) -> Callable[..., Proxy]:
    def method(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", getattr(operator, name), (other, self), {})

    return method


for _name in MAGIC:
    if _name != "getitem":
        setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name))
for _name in REFLECTABLE:
    if _name != "getitem":
        setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
