"""A graph as text and as a picture."""

from __future__ import annotations

from course.tensorflow1.graph import Graph, Operation
from minitorch.viz import Mermaid

_STYLES = {"Const": "saved", "Placeholder": "leaf", "VariableV2": "module", "Cond": "result", "While": "result"}
_LOOKS = (
    "classDef leaf fill:#cfe8fc,stroke:#0072b2,color:#000",
    "classDef op fill:#f4f4f4,stroke:#555,color:#000",
    "classDef module fill:#d9efe6,stroke:#009e73,color:#000",
    "classDef result fill:#fde6c8,stroke:#d55e00,color:#000",
    "classDef saved fill:#fff,stroke:#999,color:#555,stroke-dasharray:4 3",
)


def listing(graph: Graph) -> str:
    """A line for each node: its name, its type and what it takes; control inputs with a ^, as in TensorFlow's files."""
    rows = [(op.name, op.type, ", ".join(_inputs(op))) for op in graph.get_operations()]
    widths = [max((len(row[place]) for row in rows), default=0) for place in (0, 1)]
    return "\n".join(f"{name:{widths[0]}}  {type:{widths[1]}}  {inputs}".rstrip() for name, type, inputs in rows)


def edges(graph: Graph) -> list[tuple[str, str]]:
    """Pairs of names: a tensor, or an operation that only has to run before, and the operation that it leads to."""
    return [(start, op.name) for op in graph.get_operations() for start in _inputs(op)]


def draw(graph: Graph) -> Mermaid:
    """The nodes as boxes, the tensors as arrows; a dotted arrow says only which node runs first."""
    numbers = {op.name: f"n{place}" for place, op in enumerate(graph.get_operations())}
    boxes = [
        f'    {numbers[op.name]}["{op.name}<br/>{op.type}"]:::{_STYLES.get(op.type, "op")}'
        for op in graph.get_operations()
    ]
    arrows = [
        f"    {numbers[each.op.name]} --> {numbers[op.name]}" for op in graph.get_operations() for each in op.inputs
    ]
    arrows += [
        f"    {numbers[each.name]} -.-> {numbers[op.name]}"
        for op in graph.get_operations()
        for each in op.control_inputs
    ]
    return Mermaid("\n".join(["flowchart TD", *boxes, *dict.fromkeys(arrows), *(f"    {look}" for look in _LOOKS)]))


def _inputs(op: Operation) -> list[str]:
    return [*(tensor.name for tensor in op.inputs), *(f"^{each.name}" for each in op.control_inputs)]
