"""Diagrams as text. Source of the syntax: https://mermaid.js.org/syntax/flowchart.html"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

STYLES = (
    "classDef leaf fill:#cfe8fc,stroke:#0072b2,color:#000",
    "classDef op fill:#f4f4f4,stroke:#555,color:#000",
    "classDef module fill:#d9efe6,stroke:#009e73,color:#000",
    "classDef result fill:#fde6c8,stroke:#d55e00,color:#000",
    "classDef saved fill:#fff,stroke:#999,color:#555,stroke-dasharray:4 3",
)
ROUND, SQUARE, FRAMED = ('(["', '"])'), ('["', '"]'), ('[["', '"]]')
"""Shapes of boxes: how they open and close."""


class Mermaid:
    """A diagram: `source` is its text; a notebook shows it drawn."""

    def __init__(self, source: str) -> None:
        self.source = source

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/vnd.mermaid": self.source, "text/plain": self.source}

    def __repr__(self) -> str:
        return self.source


class Group:
    """A frame around boxes and other frames."""

    def __init__(self, identifier: str, title: str) -> None:
        self.identifier, self.title = identifier, title
        self.lines: list[str] = []
        self.groups: list[Group] = []

    def text(self, indent: str) -> list[str]:
        inner = indent + "    "
        within = [inner + line for line in self.lines] + [line for each in self.groups for line in each.text(inner)]
        return [f'{indent}subgraph {self.identifier}["{self.title}"]', *within, f"{indent}end"]


class Flowchart:
    """Boxes, arrows and frames, which get short names in the order in which they come.

    Boxes and frames are told apart by keys, so that the same key is drawn once.
    """

    def __init__(self) -> None:
        self.root = Group("", "")
        self.names: dict[Hashable, str] = {}
        self.framed: dict[Hashable, Group] = {}
        self.arrows: dict[str, None] = {}
        self.drawn: set[Hashable] = set()

    def box(self, key: Hashable, lines: list[str], shape: tuple[str, str], style: str, group: Group | None) -> None:
        """Draws a box with some lines of text, unless it is there already."""
        if key in self.drawn:
            return
        self.drawn.add(key)
        name = self.names.setdefault(key, f"n{len(self.names)}")
        text = "<br/>".join(line.replace('"', "#quot;") for line in lines if line)
        (group or self.root).lines.append(f"{name}{text.join(shape)}:::{style}")

    def group(self, key: Hashable, title: str, parent: Group | None) -> Group:
        """The frame of this key."""
        if key not in self.framed:
            self.framed[key] = Group(f"g{len(self.framed)}", title)
            (parent or self.root).groups.append(self.framed[key])
        return self.framed[key]

    def arrow(self, start: Hashable, end: Hashable, label: str = "", line: str = "-->") -> None:
        """Draws an arrow between boxes, unless the same is there already."""
        names = [self.names.setdefault(key, f"n{len(self.names)}") for key in (start, end)]
        text = f" -- {label} {line} " if label else f" {line} "
        self.arrows[text.join(names)] = None

    def draw(self) -> Mermaid:
        """The whole diagram."""
        _, *boxes, _ = self.root.text("")
        return Mermaid("\n".join(["flowchart TD", *boxes, *("    " + each for each in (*self.arrows, *STYLES))]))
