"""A graph as the source of a Python function: one line a node, and values are dropped after their last use.

Source: torch/fx/graph.py, `CodeGen`.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from minitorch.fx import names
from minitorch.fx.namespace import GLOBALS, Namespace
from minitorch.fx.node import Node, nodes_in, type_name
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.fx.graph import Graph

REFLECTABLE = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}",
    "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
"""The functions of `operator` with two operands of which either may be a tensor."""

MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **REFLECTABLE,
}  # fmt: skip

IN_PLACE = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


class PythonCode(NamedTuple):
    """The source of a function, and the globals that it needs."""

    src: str
    globals: dict[str, Any]


class CodeWriter:
    """Writes the source of one graph; `root` is what the code calls the module."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.globals: dict[str, Any] = dict(GLOBALS, torch=names.torch)
        self.parameters: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.returned = ""
        self._namespace = Namespace()

    def write(self, graph: Graph) -> PythonCode:
        """The function `forward` of a graph."""
        for node in graph.nodes:
            self._namespace.create_name(node.name, node)
        last = _last_uses(graph)
        body = []
        for node in graph.nodes:
            line = self._line(node)
            if node.op in ("placeholder", "output"):
                body += [line] if line else []
                continue
            dropped = last.get(node, []) + ([] if node.users else [node])
            body.append(f"{line};  {' = '.join(each.name for each in dropped)} = None" if dropped else line)
        body = [*(body or ["pass"]), ""]
        wraps = ""
        if self.wrapped:
            wrap = "torch.fx.wrap"
            wraps = "\n".join(f'{wrap}("{name}")' for name in self.wrapped)
        head = f"def forward({', '.join(['self', *self.parameters])}){self.returned}:"
        lines = "\n".join(f"    {line}" for line in body)
        return PythonCode(f"\n{wraps}\n\n{head}\n{lines}", self.globals)

    def _global(self, hint: str, value: Any) -> str:
        """The name by which the code knows a function or type."""
        if names.is_known(value) and not isinstance(value, type):
            return names.qualified(value)
        if value is Tensor:
            return "torch.Tensor"
        name = self._namespace.create_name(hint, value)
        if getattr(builtins, name, None) is not value:
            self.globals[name] = value
        return name

    def _type(self, kind: Any) -> str:
        origin = getattr(kind, "__origin__", None)
        if origin is not None and getattr(kind, "__args__", None):
            inner = ",".join(self._type(each) for each in kind.__args__)
            return f"{self._global(type_name(origin), origin)}[{inner}]"
        return self._global(type_name(kind), kind)

    def _value(self, value: Any) -> str:
        """An argument as source."""
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self._global(names.qualified(type(value)), type(value))}{tuple(value)!r}"
        if isinstance(value, enum.Enum):
            return f"{self._global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, Tensor):
            return f"torch.Tensor(size={list(value.shape)}, dtype={str(value.dtype).removeprefix('torch.')})"
        if isinstance(value, tuple):
            inner = ", ".join(map(self._value, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self._value(each)}' for key, each in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({self._value(value.start)}, {self._value(value.stop)}, {self._value(value.step)})"
        if isinstance(value, type):
            return self._global(type_name(value), value)
        return repr(value)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self._value, args), *(f"{key} = {self._value(each)}" for key, each in kwargs.items())])

    def _line(self, node: Node) -> str:
        annotation = "" if node.type is None else f" : {self._type(node.type)}"
        if node.op == "placeholder":
            default = f" = {self._value(node.args[0])}" if node.args else ""
            self.parameters.append(f"{node.target}{annotation}{default}")
            raw = node.target.replace("*", "")
            return "" if raw == node.name else f"{node.name} = {raw}"
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self._type(node.type)}"
            return f"return {self._value(node.args[0])}"
        head = f"{node.name}{annotation} = "
        if node.op == "get_attr":
            return head + _path(self.root, node.target)
        if node.op == "call_module":
            return f"{head}{_path(self.root, node.target)}({self._arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            return (
                f"{head}{_path(self._value(node.args[0]), node.target)}({self._arguments(node.args[1:], node.kwargs)})"
            )
        return self._call(node, head)

    def _call(self, node: Node, head: str) -> str:
        function: Callable[..., Any] = node.target
        if getattr(function, "__module__", "") == "_operator":
            operands = [self._value(each) for each in node.args]
            if function.__name__ in MAGIC:
                return head + MAGIC[function.__name__].format(*operands)
            if function.__name__ in IN_PLACE:
                return f"{IN_PLACE[function.__name__].format(*operands)};  {head}{operands[0]}"
        name = self._global(names.qualified(function), function)
        if function is getattr and len(node.args) == 2:
            return head + _path(self._value(node.args[0]), node.args[1])
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
        return f"{head}{name}({self._arguments(node.args, node.kwargs)})"


def _path(base: str, path: str) -> str:
    """`base.a.b`; parts that are no identifiers, such as the places in a Sequential, are read with `getattr`."""
    for part in path.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes whose result is used last by each node."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        for each in dict.fromkeys(nodes_in((node.args, node.kwargs))):
            if each not in seen:
                seen.add(each)
                last.setdefault(node, []).append(each)
    return last
