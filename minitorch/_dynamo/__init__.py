"""Capture: Python functions become graphs, without changing what they do.

A function's bytecode is interpreted on tensors without data (`machine`). What it reads from outside becomes a guard,
tensor operations become nodes, and where it does anything else the function is split; docs/compile.md says what is
captured. Source: https://docs.pytorch.org/docs/stable/torch.compiler_dynamo_overview.html
"""

from __future__ import annotations

from minitorch._dynamo import config, eval_frame, exc, testing, utils
from minitorch._dynamo.backends import list_backends
from minitorch._dynamo.compiling import OptimizedModule, compile
from minitorch._dynamo.decorators import (
    allow_in_graph,
    assume_constant_result,
    disable,
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    reset,
)  # fmt: skip
from minitorch._dynamo.explaining import explain

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "compile", "config", "disable", "eval_frame", "exc",
    "explain", "graph_break", "list_backends", "mark_dynamic", "mark_static", "mark_static_address", "reset", "testing",
    "utils",
]  # fmt: skip
