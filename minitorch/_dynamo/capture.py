"""One capture: a function, called with these arguments, becomes a graph with guards, or the reason why it can't."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingType
from typing import Any

from minitorch._dynamo.calling import Calling
from minitorch._dynamo.exc import Break, NeedsStatic
from minitorch._dynamo.guards import Guards
from minitorch._dynamo.machine import Frame
from minitorch._dynamo.values import Function, Items, Known, Lazy, Mapping, SymInt, TensorValue, Value
from minitorch.autograd import grad_mode
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.nn.modules.module import Module
from minitorch.random import get_rng_state, set_rng_state


class Captured:
    """What a capture has found.

    `module` is None where nothing is computed with tensors. `build` makes the function's result of the graph's outputs,
    the arguments and the function. `reason` says why there is no graph, and then the function runs eagerly.
    """

    def __init__(self, guards: Guards) -> None:
        self.guards = guards
        self.graph: Graph | None = None
        self.module: GraphModule | None = None
        self.inputs: list[str] = []
        self.examples: list[Any] = []
        self.build: Callable[..., Any] = lambda outputs, arguments, function: None
        self.reason: str | None = None
        self.where = ""


class Capture(Calling):
    """The state of one capture.

    Args:
        dynamic: the dimensions that are symbols, by the source of the tensor.
        symbols: the sources of integers that are symbols.
    """

    def __init__(self, dynamic: dict[str, set[int]], symbols: set[str]) -> None:
        super().__init__()
        self.dynamic, self.symbols = dynamic, symbols

    def run(self, function: Any, arguments: MappingType[str, Any]) -> Captured:
        """Captures a call. Nothing that the function does outside happens."""
        found = Captured(self.guards)
        mode, random = grad_mode.state.asked, get_rng_state()
        try:
            result = self._start(function, arguments)
            text, outputs = self._result(result)
            self._check_writes()
            self._finish(found, text, outputs)
        except Break as error:
            found.reason, found.where = error.reason, error.where
        finally:
            grad_mode.state.set(mode, grad_mode.state.inference)
            set_rng_state(random)
        return found

    def _start(self, function: Any, arguments: MappingType[str, Any]) -> Value:
        """Runs the function's own frame."""
        variables: dict[str, Value] = {name: Lazy(each, f"L[{name!r}]") for name, each in arguments.items()}
        if isinstance(function, Module):
            owner = self.looked_at(variables["self"])
            assert isinstance(owner, Known)
            self.check_hooks(owner)
            forward = self.attribute(owner, "forward")
            function_value = forward.function  # type: ignore[attr-defined]
        else:
            function_value = self.function(getattr(function, "__func__", function), "F")
        assert isinstance(function_value, Function)
        return Frame(self, function_value, variables).run()

    def _result(self, value: Value) -> tuple[str, list[Any]]:
        """An expression for what the function returns, and the nodes whose results it needs."""
        outputs: list[Any] = []
        containers: set[int] = set()

        def text(value: Value) -> str:
            value = self.looked_at(value)
            if isinstance(value, (TensorValue, SymInt)):
                if value.node not in outputs:
                    outputs.append(value.node)
                return f"O[{outputs.index(value.node)}]"
            if isinstance(value, Known):
                return value.source or self.guards.constant(value.value)
            if isinstance(value, (Items, Mapping)) and value.source is not None:
                return value.source
            if isinstance(value, (Items, Mapping)):
                if id(value) in containers and not (isinstance(value, Items) and value.kind is tuple):
                    raise Break("returns the same list or dict twice")
                containers.add(id(value))
            if isinstance(value, Items) and value.kind is not slice:
                inner = "".join(f"{text(each)}, " for each in value.items)
                if value.kind in (list, tuple):
                    return f"[{inner}]" if value.kind is list else f"({inner})"
                kind = self.guards.constant(value.kind, "t")
                return f"{kind}({inner})" if hasattr(value.kind, "_fields") else f"{kind}(({inner}))"
            if isinstance(value, Mapping):
                return f"{{{''.join(f'{key!r}: {text(each)}, ' for key, each in value.items.items())}}}"
            raise Break(f"returns a {type(value).__name__.lower()}")

        return text(value), outputs

    def _check_writes(self) -> None:
        """Raises Break if an operation writes and an input is a view: the write changes what its base says."""
        writes = any(each.op.startswith("call") and is_write(each) for each in self.graph.nodes)
        if writes and any(getattr(each, "_base", None) is not None for each in self.examples):
            raise Break("writes in place, and an input is a view")

    def _finish(self, found: Captured, text: str, outputs: list[Any]) -> None:
        """The graph module, and the function that makes the result."""
        self.graph.output(tuple(outputs))
        for node in reversed(self.graph.nodes):
            if not node.users and node.op.startswith("call") and _is_number(node):
                self.graph.erase_node(node)
        placeholders = [each for each in self.graph.nodes if each.op == "placeholder"]
        for node, source, example in zip(placeholders, self.inputs, self.examples, strict=True):
            if node.users:
                found.inputs.append(source)
                found.examples.append(example)
            else:
                self.graph.erase_node(node)
        scope = dict(self.guards.constants)
        exec(compile(f"def build(O, L, F):\n    return {text}\n", "<result>", "exec"), scope)
        found.build = scope["build"]
        found.graph = self.graph
        if any(each.op.startswith("call") for each in self.graph.nodes):
            found.module = GraphModule(Module(), self.graph)
            found.module.meta["has_symbols"] = self.has_symbols


def is_write(node: Any) -> bool:
    """Whether a node writes to one of its arguments."""
    name = node.target if isinstance(node.target, str) else node.target.__name__
    if getattr(node.target, "__module__", "") == "_operator":
        return name == "setitem" or (name[0] == "i" and name != "invert")
    return bool(name.endswith("_") or node.kwargs.get("inplace"))


def _is_number(node: Any) -> bool:
    """Whether a node computes with sizes alone."""
    return (
        "example_value" not in node.meta
        and getattr(node.target, "__module__", "") == "_operator"
        and not is_write(node)
    )


def capture(
    function: Any, arguments: MappingType[str, Any], dynamic: dict[str, set[int]], symbols: set[str]
) -> Captured:
    """Captures a call; without symbols, if the function reads of a size what one value alone makes true."""
    try:
        return Capture(dynamic, symbols).run(function, arguments)
    except NeedsStatic:
        return Capture({}, set()).run(function, arguments)
