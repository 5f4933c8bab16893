"""A program as a list of nodes.

Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Graph
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minitorch.fx.codegen import CodeWriter, PythonCode
from minitorch.fx.names import qualified
from minitorch.fx.namespace import Namespace, snake_case
from minitorch.fx.node import Node, Target, map_arg, nodes_in
from minitorch.fx.table import table

if TYPE_CHECKING:
    from minitorch.nn.modules.module import Module


class Nodes:
    """The nodes of a graph, in the order in which they run."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._root._next
        while node is not self._graph._root:
            following = node
            if not node._erased:
                yield node
            node = following._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph._root._previous
        while node is not self._graph._root:
            if not node._erased:
                yield node
            node = node._previous

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Graph:
    """A program: placeholders, steps, and an output.

    New nodes go to the end, or where `inserting_before` and `inserting_after` say.
    """

    def __init__(self, owning_module: Module | None = None, tracer_cls: Any = None) -> None:
        self.owning_module = owning_module
        self._root = Node(self, "", "get_attr", "", (), {})
        self._namespace = Namespace()
        self._insert: Callable[[Node], None] = self._root.prepend

    @property
    def nodes(self) -> Nodes:
        """All nodes, in order."""
        return Nodes(self)

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Adds a node. Its name is like `name`, or like the target's."""
        if name is None:
            name = _like(target)
        node = Node(self, self._namespace.create_name(name, None), op, target, args or (), kwargs or {}, type_expr)
        self._namespace.name(node, node.name)
        self._insert(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Adds an input."""
        return self.create_node(
            "placeholder", name, () if default_value is ... else (default_value,), {}, None, type_expr
        )

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Adds a node that reads a parameter, buffer or submodule."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Adds a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, None, type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Adds a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Adds a call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Adds the output."""
        return self.create_node("output", "output", (result,), {}, None, type_expr)

    def find_nodes(self, *, op: str, target: Target = None, sort: bool = True) -> list[Node]:
        """The nodes with this op and, if given, target."""
        return [each for each in self.nodes if each.op == op and target in (None, each.target)]

    def output_node(self) -> Node:
        """The output."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Adds a copy of a node of another graph; `arg_transform` says what its arguments are in this one."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Adds copies of all nodes of another graph that are not in `val_map`. Returns what the output returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node. Raises RuntimeError if its result is used."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        to_erase._previous._next, to_erase._next._previous = to_erase._next, to_erase._previous
        to_erase._erased = True
        to_erase.args, to_erase.kwargs = (), {}

    @contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """In a `with` block, new nodes go before this one, or to the beginning."""
        return self._inserting(self._root._next.prepend if n is None else n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """In a `with` block, new nodes go right after this one, or to the end."""
        return self._inserting(self._root.prepend if n is None else n.append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes the nodes whose results nobody uses, unless they are impure. Returns whether there were any."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        dead = []
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                dead.append(node)
        return bool(dead)

    def lint(self) -> None:
        """Raises RuntimeError if a node uses one that comes later, or one of another graph, or a name is used twice."""
        seen: set[Node] = set()
        named: set[str] = set()
        for node in self.nodes:
            for each in nodes_in((node.args, node.kwargs)):
                if each.graph is not self:
                    raise RuntimeError(
                        f"Argument '{each}' of Node '{node}' does not belong to this Graph, but was used as an "
                        "argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` on "
                        f"node_copy() to remap values\n{self}"
                    )
                if each not in seen:
                    raise RuntimeError(
                        f"Argument '{each}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in named:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            named.add(node.name)

    def python_code(self, root_module: str) -> PythonCode:
        """The source of the graph as a function, whose module is called `root_module`."""
        return CodeWriter(root_module).write(self)

    def print_tabular(self) -> None:
        """Prints a table of the nodes."""
        rows = [[each.op, each.name, each.target, each.args, each.kwargs] for each in self.nodes]
        print(table(rows, ["opcode", "name", "target", "args", "kwargs"]))

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        copy = Graph()
        mapped: dict[Node, Node] = {}
        for node in self.nodes:
            mapped[node] = copy.node_copy(node, mapped.__getitem__)
        return copy


def _like(target: Target) -> str:
    name = target if isinstance(target, str) else target.__name__  # of an operator's overload "scale.default"
    name = name if isinstance(target, str) or "." in name else qualified(target).rpartition(".")[2]
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
    return snake_case(name)
