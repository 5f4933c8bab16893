"""One capture: a function, called with these arguments, becomes a graph with guards, or the reason why it can't."""

from __future__ import annotations

import functools
from collections.abc import Callable
from collections.abc import Mapping as MappingType
from typing import Any

from minitorch._dynamo.calling import Calling
from minitorch._dynamo.effects import Effects, can_fail, writes_buffers
from minitorch._dynamo.exc import Break, NeedsBreaks, NeedsStatic
from minitorch._dynamo.guards import Guards
from minitorch._dynamo.results import Writer
from minitorch._dynamo.splitting import Reached, RootFrame, Split, Stop
from minitorch._dynamo.values import Function, Known, Lazy, Value
from minitorch.autograd import grad_mode
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.nn.modules.module import Module
from minitorch.random import get_rng_state, set_rng_state


class Captured:
    """What a capture has found.

    `module` is None where nothing is computed with tensors. `build` makes the function's result of the graph's outputs,
    the arguments and the function. If the graph ends before the function does, `split` says what follows, and `build`
    makes what that needs. `reason` says why there is no graph, and then the function runs eagerly, unless another
    capture ends the graph at `stop`.
    """

    def __init__(self, guards: Guards) -> None:
        self.guards = guards
        self.graph: Graph | None = None
        self.module: GraphModule | None = None
        self.inputs: list[str] = []
        self.examples: list[Any] = []
        self.build: Callable[..., Any] = lambda outputs, arguments, function: None
        self.split: Split | None = None
        self.reason: str | None = None
        self.stop: Stop | None = None
        self.where = ""
        self.has_effects = False

    def forget_tensors(self) -> None:
        """Forgets the tensors of this call, which nobody needs once the graph is compiled."""
        self.examples = []
        self.guards.tensors.clear()


def unchanged(run: Any) -> Any:
    """A function after which the grad mode and the random stream are what they were."""

    @functools.wraps(run)
    def restored(*args: Any) -> Any:
        mode, random = grad_mode.state.asked, get_rng_state()
        try:
            return run(*args)
        finally:
            grad_mode.state.set(mode, grad_mode.state.inference)
            set_rng_state(random)

    return restored


class Capture(Calling):
    """The state of one capture.

    Args:
        dynamic: the dimensions that are symbols, by the source of the tensor.
        symbols: the sources of integers that are symbols.
        stop: where the graph ends, if not where the function returns.
        effects: whether effects on Python objects wait for the end of the graph; else each of them ends it.
    """

    def __init__(
        self, dynamic: dict[str, set[int]], symbols: set[str], stop: Stop | None = None, effects: bool = True
    ) -> None:
        super().__init__()
        self.effects = Effects(self.guards, effects)
        self.dynamic, self.symbols, self.stop = dynamic, symbols, stop
        self.root: RootFrame | None = None

    @unchanged
    def run(self, function: Any, arguments: MappingType[str, Any]) -> Captured:
        """Captures a call. Nothing that the function does outside happens."""
        found = Captured(self.guards)
        try:
            writer = Writer(self.guards)
            try:
                text = writer.text(self.start(function, arguments).run())
            except Reached:
                assert self.root is not None
                found.split, text = self.root.split(writer)
            self._check_writes()
            found.has_effects = bool(self.effects)
            self._finish(found, self.effects.write(writer, text), writer)
        except Break as error:
            found.reason, found.where = error.reason, error.where
            found.stop = None if self.root is None else self.root.where_to_stop(error)
        return found

    def start(self, function: Any, arguments: MappingType[str, Any]) -> RootFrame:
        """The function's own frame."""
        variables: dict[str, Value] = {name: Lazy(each, f"L[{name!r}]") for name, each in arguments.items()}
        if isinstance(function, Module):
            owner = self.looked_at(next(iter(variables.values())))  # which most programs call `self`
            assert isinstance(owner, Known)
            self.check_hooks(owner)
            forward = self.attribute(owner, "forward")
            function_value = forward.function  # type: ignore[attr-defined]
        else:
            function_value = self.function(getattr(function, "__func__", function), "F")
        assert isinstance(function_value, Function)
        self.root = RootFrame(self, function_value, variables, self.stop)
        return self.root

    def _check_writes(self) -> None:
        """Raises Break if an operation writes, an input is a view, and a gradient is recorded.

        Then the write changes what the view's base says of itself.
        """
        calls = [each for each in self.graph.nodes if each.op.startswith("call")]
        writes = any(is_write(each) for each in calls)
        if self.effects and any(map(can_fail, calls)) and (writes or any(map(writes_buffers, calls))):
            raise NeedsBreaks
        if not any(getattr(each, "requires_grad", False) for each in self.examples):
            return
        if writes and any(getattr(each, "_base", None) is not None for each in self.examples):
            raise Break("writes in place, and an input is a view")

    def _finish(self, found: Captured, text: str, writer: Writer) -> None:
        """The graph module, and the function that makes the result."""
        self.graph.output(tuple(writer.outputs))
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
        lines = "".join(f"    {line}\n" for line in writer.lines)
        exec(compile(f"def build(O, L, F):\n{lines}    return {text}\n", "<result>", "exec"), scope)
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
    function: Any,
    arguments: MappingType[str, Any],
    dynamic: dict[str, set[int]],
    symbols: set[str],
    splits: bool = True,
) -> Captured:
    """Captures a call; without symbols, if the function reads of a size what one value alone makes true.

    With `splits`, a function that can't be captured whole is captured again up to where it must be split.
    """
    stop: Stop | None = None
    effects = True
    while True:
        try:
            found = Capture(dynamic, symbols, stop, effects).run(function, arguments)
        except NeedsStatic:
            dynamic, symbols = {}, set()
            continue
        except NeedsBreaks:
            effects, stop = False, None
            continue
        if found.stop is None or not splits:
            return found
        stop = found.stop
