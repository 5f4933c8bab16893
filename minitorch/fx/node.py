"""A step of a graph: what is called, with which arguments, and which other steps use the result.

Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Node
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from minitorch.fx.names import qualified
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.fx.graph import Graph

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")

Target = Any
"""A name, or the function that a `call_function` calls."""

BASE_TYPES = (str, int, float, bool, complex, bytes)


class Node:
    """A step of a graph.

    `op` says what it does: a `placeholder` is an input, `get_attr` reads a parameter or buffer by its path,
    `call_function`, `call_method` and `call_module` call `target` with `args` and `kwargs`, and `output` returns
    `args[0]`. `users` are the nodes that take this one's result; `meta` is for passes.
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: Any, kwargs: Any, return_type: Any = None
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"Node op {op} is not supported")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is "
                "expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._previous = self._next = self
        self._erased = False
        self._set(tuple(args), dict(kwargs))

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for each in self._inputs:
            each.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        self._inputs = dict.fromkeys(nodes_in((args, kwargs)))
        for each in self._inputs:
            each.users[self] = None

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments, in which nodes stand for their results."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set(self._args, dict(kwargs))

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._previous

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replaces a positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replaces a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Has this node use another node in place of one of its inputs."""
        swap = lambda node: new_input if node is old_input else node  # noqa: E731
        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True
    ) -> list[Node]:
        """Has the users of this node use another; `delete_user_cb` says which of them. Returns those that changed."""
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def insert_before(self, node: Node) -> None:
        """Puts `node` right before this one."""
        _unlink(node)
        node._previous, node._next = self._previous, self
        self._previous._next = node
        self._previous = node

    def insert_after(self, node: Node) -> None:
        """Puts `node` right after this one."""
        self._next.insert_before(node)

    prepend, append = insert_before, insert_after

    def is_impure(self) -> bool:
        """Whether dead code elimination must keep the node: inputs, outputs, writes, and random numbers."""
        if self.op in ("placeholder", "output"):
            return True
        name = self.target if isinstance(self.target, str) else self.target.__name__
        if self.op == "call_method":
            return bool(name[-1] == "_" and name[-2:] != "__")
        return self.op == "call_function" and (name == "setitem" or name in _RANDOM or "out" in self._kwargs)

    def format_node(self) -> str:
        """A line about the node, as `print(graph)` shows it."""
        named = f"{type_name(self.type)} " if self.type is not None else ""
        head = f"%{self.name} : {named}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={self.target}]"
        if self.op == "output":
            return f"return {self._args[0]}"
        target = self.target if isinstance(self.target, str) else _printed(self.target)
        return f"{head}[target={target}](args = {_formatted(self._args)}, kwargs = {_formatted(self._kwargs)})"

    def __repr__(self) -> str:
        return self.name


_RANDOM = {
    "bernoulli",
    "dropout",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randperm",
}


def _unlink(node: Node) -> None:
    node._previous._next, node._next._previous = node._next, node._previous


def nodes_in(value: Any) -> Iterable[Node]:
    """The nodes in arguments, in order."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from nodes_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from nodes_in(each)
    elif isinstance(value, slice):
        yield from nodes_in((value.start, value.stop, value.step))


def map_aggregate(value: Any, fn: Callable[[Any], Any]) -> Any:
    """Applies a function to everything in tuples, lists, dicts and slices."""
    if isinstance(value, tuple):
        items = [map_aggregate(each, fn) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [map_aggregate(each, fn) for each in value]
    if isinstance(value, dict):
        return {key: map_aggregate(each, fn) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(*(map_aggregate(each, fn) for each in (value.start, value.stop, value.step)))
    return fn(value)


def map_arg(value: Any, fn: Callable[[Node], Any]) -> Any:
    """Applies a function to every node in arguments."""
    return map_aggregate(value, lambda each: fn(each) if isinstance(each, Node) else each)


def type_name(kind: Any) -> str:
    """A type as annotations write it."""
    if kind is Tensor:
        return "torch.Tensor"
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return "..." if kind is ... else kind.__name__ if isinstance(kind, types.FunctionType) else repr(kind)


def _printed(target: Any) -> str:
    module = getattr(target, "__module__", "")
    if module in ("_operator", "builtins"):
        return f"{module.removeprefix('_')}.{target.__name__}"
    return qualified(target)


def _formatted(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_formatted, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_formatted, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_formatted(each)}' for key, each in value.items())}}}"
    return f"%{value}" if isinstance(value, Node) else str(value)
