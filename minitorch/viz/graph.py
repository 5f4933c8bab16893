"""The graph of autograd, drawn."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from minitorch.autograd.function import FunctionNode
from minitorch.autograd.node import AccumulateGrad, Edge, Node, OpNode
from minitorch.autograd.saved import SavedTensor
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor
from minitorch.viz.mermaid import FRAMED, ROUND, SQUARE, Flowchart, Group, Mermaid
from minitorch.viz.modules import ModuleCalls

Names = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]


def graph(*outputs: Any, names: Names = (), saved: bool = False, depth: int | None = None) -> Mermaid:
    """The graph that made `outputs`, from the leaves at the top down to the outputs. Gradients flow the other way.

    `names` labels tensors, leaves or not: a dict, or what `module.named_parameters()` gives. With `saved`, the tensors
    that a node keeps for its backward pass hang on it. Raises RuntimeError for an output without a graph.

    `graph(model, *inputs)` calls the model and draws its graph with a frame around what each module recorded. With
    `depth`, modules that many levels down are one box each, with the number of their parameters, and so are modules
    without children. The call is one like any other: in training it draws random numbers and updates statistics.
    """
    if not outputs or not isinstance(outputs[0], Module):
        if depth is not None:
            raise TypeError("viz.graph: depth is for graph(model, *inputs)")
        return Drawing(dict(names), saved).draw(outputs)
    model, *given = outputs
    inputs = [each.detach().requires_grad_() if _is_differentiable(each) else each for each in given]
    calls = ModuleCalls(model)
    result = calls.run(model, tuple(inputs))
    labels = {f"input {i}" if len(inputs) > 1 else "input": each for i, each in enumerate(inputs)}
    labels = {name: each for name, each in labels.items() if isinstance(each, Tensor)}
    labels.update((name, each) for name, each in (*model.named_parameters(), *dict(names).items()))
    tensors = [result] if isinstance(result, Tensor) else [each for each in result if isinstance(each, Tensor)]
    return Drawing(labels, saved, calls, depth).draw(tensors)


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_differentiable


class Drawing:
    """A graph on its way to a diagram."""

    def __init__(
        self, names: Mapping[str, Any], saved: bool, calls: ModuleCalls | None = None, depth: int | None = None
    ) -> None:
        self.names = {id(each): name for name, each in names.items()}
        self.made = {id(each.grad_fn): name for name, each in names.items() if each.grad_fn is not None}
        self.tensors = tuple(names.values())  # kept alive, so that no other object gets the identity of one
        self.saved, self.calls, self.depth = saved, calls, depth
        self.chart = Flowchart()
        self.users: dict[Node, list[Node]] = {}

    def draw(self, outputs: Iterable[Tensor]) -> Mermaid:
        """The diagram of all that the outputs were made from."""
        roots = []
        for output in outputs:
            if output.grad_fn is None:
                raise RuntimeError("viz.graph: the tensor has no grad_fn, so there is no graph to draw")
            roots.append((output.grad_fn, output))
        self.find_users([node for node, _ in roots])
        for number, (node, output) in enumerate(roots):
            key = ("output", number)
            self.chart.box(key, [self.name_of(output, "output"), _kind(output)], ROUND, "result", None)
            self.chart.arrow(self.drawn_as(node), key)
        for node in self.users:
            self.node(node)
            for edge in node.edges:
                if edge is not None:
                    self.edge(edge, node)
        return self.chart.draw()

    def find_users(self, roots: list[Node]) -> None:
        """Walks through the graph, and notes for each node those that use what it made."""
        self.users = {node: [] for node in roots}
        unvisited = list(self.users)
        for node in unvisited:
            for edge in node.edges:
                if edge is not None:
                    if edge[0] not in self.users:
                        self.users[edge[0]] = []
                        unvisited.append(edge[0])
                    self.users[edge[0]].append(node)

    def calls_around(self, node: Node) -> list[int]:
        """The calls of modules inside which a node is drawn: a leaf inside of those that all of its users are in."""
        if self.calls is None:
            return []
        if not isinstance(node, AccumulateGrad):
            return self.calls.around(node.sequence_number)
        around = zip(*(self.calls.around(each.sequence_number) for each in self.users[node]), strict=False)
        return [places[0] for places in itertools.takewhile(lambda places: len({*places}) == 1, around)]

    def drawn_as(self, node: Node) -> Hashable:
        """The key of the box that stands for a node: its own, or that of a module."""
        for level, place in enumerate(self.calls_around(node) if self.depth is not None else ()):
            assert self.calls is not None
            if level == self.depth or not any(self.calls.calls[place].module.children()):
                return node if self.is_input(node) else ("call", place)
        return node

    def is_input(self, node: Node) -> bool:
        """Whether this is the AccumulateGrad of something else than a parameter: it stands outside of all modules."""
        return isinstance(node, AccumulateGrad) and self.name_of(node.variable, "").startswith("input")

    def group(self, calls: list[int]) -> Group | None:
        """The frame of the innermost of these calls."""
        frame = None
        for place in calls:
            assert self.calls is not None
            call = self.calls.calls[place]
            title = f"{call.path}: {type(call.module).__name__}" if call.path else type(call.module).__name__
            frame = self.chart.group(place, title, frame)
        return frame

    def node(self, node: Node) -> None:
        """Draws a node, or the module that stands for it."""
        key, calls = self.drawn_as(node), self.calls_around(node)
        if key is not node:
            self.module(key, calls[: calls.index(key[1])])  # type: ignore[index]
            return
        if isinstance(node, AccumulateGrad):
            frame = None if self.is_input(node) else self.group(calls)
            label = [self.name_of(node.variable, "leaf"), _kind(node.variable)]
            self.chart.box(node, label, ROUND, "leaf", frame)
            return
        made = self.made.get(id(node))
        self.chart.box(node, [node.name(), *([f"→ {made}"] if made else [])], SQUARE, "op", self.group(calls))
        for number, tensor in enumerate(_saved_tensors(node) if self.saved else ()):
            kept = (node, number)
            self.chart.box(kept, [self.name_of(tensor, "saved"), _kind(tensor)], SQUARE, "saved", self.group(calls))
            self.chart.arrow(kept, node, line="-.-")

    def module(self, key: Any, calls: list[int]) -> None:
        """Draws the box of a module's call, inside the given calls."""
        assert self.calls is not None
        call = self.calls.calls[key[1]]
        count = sum(each.numel() for each in call.module.parameters())
        lines = [call.path, type(call.module).__name__, *([f"{count:,} parameters"] if count else [])]
        self.chart.box(key, lines, FRAMED, "module", self.group(calls))

    def edge(self, edge: Edge, node: Node) -> None:
        """Draws the arrow along which a value went, unless it stayed inside a box."""
        start, end = self.drawn_as(edge[0]), self.drawn_as(node)
        if start != end:
            shape = "×".join(map(str, edge[0].outputs[edge[1]][0])) or "scalar"
            self.chart.arrow(start, end, shape)

    def name_of(self, tensor: Tensor, otherwise: str) -> str:
        return self.names.get(id(tensor), otherwise)


def _saved_tensors(node: Node) -> list[Tensor]:
    kept = node._saved if isinstance(node, (OpNode, FunctionNode)) else None
    tensors = [each.tensor for each in kept or () if isinstance(each, SavedTensor)]
    return [each for each in tensors if isinstance(each, Tensor)]


def _kind(tensor: Tensor) -> str:
    return f"{tuple(tensor._array.shape)} {tensor._dtype.name}"
