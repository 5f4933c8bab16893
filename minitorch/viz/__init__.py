"""Pictures of what is inside: graphs as Mermaid, which JupyterLab renders offline."""

from minitorch.viz.graph import Mermaid, graph

__all__ = ["Mermaid", "graph"]
