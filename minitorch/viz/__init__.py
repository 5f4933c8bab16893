"""Pictures of what is inside: graphs as Mermaid, which JupyterLab renders offline."""

from minitorch.viz.graph import graph
from minitorch.viz.mermaid import Mermaid

__all__ = ["Mermaid", "graph"]
