"""Running a graph node by node, to see or to change what happens.

Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Interpreter
"""

from __future__ import annotations

from typing import Any

from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.node import Node, map_arg
from minitorch.fx.proxy import Proxy
from minitorch.fx.tracing import Tracer
from minitorch.nn.modules.module import Module


class Interpreter:
    """Runs a graph module node by node; each kind of node has a method that subclasses may replace.

    Args:
        module: whose graph runs.
        garbage_collect_values: whether values are dropped after their last use.
        graph: what runs, if it isn't the module's.
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self._inputs: list[Any] = []
        seen: set[Node] = set()
        self._dead: dict[Node, list[Node]] = {}
        for node in reversed(self.graph.nodes) if garbage_collect_values else ():
            for each in node.all_input_nodes:
                if each not in seen:
                    seen.add(each)
                    self._dead.setdefault(node, []).append(each)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The output of the graph for these inputs."""
        self.env = dict(initial_env or {})
        self._inputs = list(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            for each in self._dead.get(node, ()):
                del self.env[each]
            if node.op == "output":
                return self.env[node]
        return None

    def run_node(self, n: Node) -> Any:
        """The result of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A node's arguments, with values in place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Replaces nodes by their values. Raises RuntimeError for one that hasn't run."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)

    def fetch_attr(self, target: str) -> Any:
        """What the module has at a path."""
        value: Any = self.module
        for i, name in enumerate(target.split(".")):
            if not hasattr(value, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(target.split('.')[: i + 1])}")
            value = getattr(value, name)
        return value

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next input, or its default."""
        if target.startswith("**"):
            return {}
        if target.startswith("*"):
            rest, self._inputs = self._inputs, []
            return rest
        if self._inputs:
            return self._inputs.pop(0)
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A parameter or buffer."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function."""
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns."""
        return args[0]


class _TransformerTracer(Tracer):
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """An interpreter on proxies, which gives a new module: subclasses replace what their methods record."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = _TransformerTracer()
        self.tracer.graph, self.tracer.root = self.new_graph, module

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """A placeholder of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """A node that reads the same parameter or buffer."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records the call of a submodule."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records the call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        result = super().run()
        if result is not None:
            self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph)
