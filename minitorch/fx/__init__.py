"""Programs as graphs: tracing, changing and running them.

`symbolic_trace` runs a program on stand-ins for its inputs and returns a module, whose `graph` may be changed and whose
`code` is its source. Source: https://docs.pytorch.org/docs/stable/fx.html
"""

from __future__ import annotations

from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.interpreter import Interpreter, Transformer
from minitorch.fx.node import Node, map_arg
from minitorch.fx.proxy import Proxy, TraceError
from minitorch.fx.tracing import Tracer, symbolic_trace, wrap

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "TraceError", "Tracer", "Transformer", "map_arg",
    "symbolic_trace", "wrap",
]  # fmt: skip
