"""What capture makes of a call, for people.

Source: torch/_dynamo/backends/debugging.py, `ExplainOutput`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from minitorch._dynamo.frames import Compiled


class GraphCompileReason(NamedTuple):
    """Why a graph ends, or a function runs eagerly, and where in the user's code the reason is."""

    reason: str
    user_stack: list[str]
    graph_break: bool = True


class ExplainOutput(NamedTuple):
    """The graphs of a call, and why there are not more of them."""

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[Any]]
    out_guards: list[str]
    compile_times: str = ""

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}"]
        lines += [f"Op Count: {self.op_count}", "Break Reasons:"]
        for number, each in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {each.reason}", "    User Stack:"]
            lines += [f"      {line}" for line in each.user_stack]
        return "\n".join(lines) + "\n"


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Calls a function in capture: `explain(f)(*args)` returns its graphs, guards, and the reasons for graph breaks."""

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        graphs: list[Any] = []

        def collect(module: Any, examples: list[Any]) -> Any:
            graphs.append(module)
            return module.forward

        model = getattr(f, "_torchdynamo_orig_callable", getattr(f, "_orig_mod", f))
        run = Compiled(model, collect)
        run(*args, **kwargs)
        found = [entry.found for frame in run.family for entry in frame.entries]
        whys = [each if each.split is None else each.split.stop for each in found]
        reasons = [
            GraphCompileReason(each.reason.removeprefix("Data-dependent branching: "), [each.where])
            for each in whys
            if each.reason is not None
        ]
        ops = [[n.target for n in each.graph.nodes if n.op == "call_function"] for each in graphs]
        guards = [expression for each in found for expression in each.guards.expressions]
        return ExplainOutput(graphs, len(graphs), len(graphs) - 1, reasons, sum(map(len, ops)), ops, guards)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner
