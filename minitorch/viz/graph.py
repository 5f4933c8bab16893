"""The graph of autograd, drawn.

Mermaid's syntax: https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minitorch.autograd.node import AccumulateGrad, Node, OpNode
from minitorch.autograd.saved import SavedTensor
from minitorch.tensor import Tensor

STYLES = (
    "classDef leaf fill:#cfe8fc,stroke:#0072b2,color:#000",
    "classDef op fill:#f4f4f4,stroke:#555,color:#000",
    "classDef result fill:#fde6c8,stroke:#d55e00,color:#000",
    "classDef saved fill:#fff,stroke:#999,color:#555,stroke-dasharray:4 3",
)


class Mermaid:
    """A diagram: `source` is its text; a notebook shows it drawn."""

    def __init__(self, source: str) -> None:
        self.source = source

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/vnd.mermaid": self.source, "text/plain": self.source}

    def __repr__(self) -> str:
        return self.source


def graph(
    *outputs: Tensor, names: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] = (), saved: bool = False
) -> Mermaid:
    """The graph that made `outputs`, from the leaves at the top down to the outputs. Gradients flow the other way.

    `names` labels tensors, leaves or not: a dict, or what `module.named_parameters()` gives. With `saved`, the tensors
    that a node keeps for its backward pass hang on it. Raises RuntimeError for an output without a graph.
    """
    labels = dict(names)
    lines = ["flowchart TD"]
    numbers: dict[int, str] = {}
    edges: list[str] = []
    unvisited: list[Node] = []

    def identifier(node: Node) -> str:
        if id(node) not in numbers:
            numbers[id(node)] = f"n{len(numbers)}"
            unvisited.append(node)
        return numbers[id(node)]

    for number, output in enumerate(outputs):
        if output.grad_fn is None:
            raise RuntimeError("viz.graph: the tensor has no grad_fn, so there is no graph to draw")
        label = _label(_name_of(output, labels) or "output", output)
        lines.append(f'    r{number}(["{label}"]):::result')
        edges.append(f"    {identifier(output.grad_fn)} --> r{number}")
    while unvisited:
        node = unvisited.pop(0)
        here = numbers[id(node)]
        if isinstance(node, AccumulateGrad):
            label = _label(_name_of(node.variable, labels) or "leaf", node.variable)
            lines.append(f'    {here}(["{label}"]):::leaf')
            continue
        made = next((name for name, tensor in labels.items() if tensor.grad_fn is node), None)
        lines.append(f'    {here}["{node.name()}{f"<br/>→ {made}" if made else ""}"]:::op')
        for edge in node.edges:
            if edge is not None:
                shape = "×".join(map(str, edge[0].outputs[edge[1]][0])) or "scalar"
                edges.append(f"    {identifier(edge[0])} -- {shape} --> {here}")
        if saved and isinstance(node, OpNode):
            for number, tensor in enumerate(_saved_tensors(node)):
                label = _label(_name_of(tensor, labels) or "saved", tensor)
                lines.append(f'    {here}s{number}["{label}"]:::saved')
                edges.append(f"    {here}s{number} -.- {here}")
    return Mermaid("\n".join([*lines, *edges, *(f"    {style}" for style in STYLES)]))


def _saved_tensors(node: OpNode) -> list[Tensor]:
    return [each.tensor for each in node._saved or () if isinstance(each, SavedTensor)]


def _name_of(tensor: Tensor, names: Mapping[str, Tensor]) -> str | None:
    return next((name for name, named in names.items() if named is tensor), None)


def _label(name: str, tensor: Tensor) -> str:
    return f"{name}<br/>{tuple(tensor._array.shape)} {tensor._dtype.name}"
