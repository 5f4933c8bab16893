"""Decisions and loops that are part of the graph: both ways are built, and a run takes one.

Source: https://www.tensorflow.org/api_docs/python/tf/compat/v1/cond
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from course.tensorflow1.graph import Graph, Operation, Tensor, get_default_graph
from course.tensorflow1.operations import convert


class Body:
    """A function as nodes: its parameters, its results, and which tensors it takes from outside."""

    def __init__(self, graph: Graph, parameters: Sequence[Tensor], function: Callable[..., Any]) -> None:
        before = set(graph.operations)
        self.parameters = tuple(parameters)
        answer = function(*parameters)
        self.is_single = not isinstance(answer, (list, tuple))
        self.results = tuple(convert(each) for each in ([answer] if self.is_single else answer))
        self.operations = [op for name, op in graph.operations.items() if name not in before]
        own = {*self.operations, *(each.op for each in parameters)}
        needed = [*(tensor for op in self.operations for tensor in op.inputs), *self.results]
        self.captured = tuple(dict.fromkeys(tensor for tensor in needed if tensor.op not in own))


def cond(pred: Tensor, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str = "cond") -> Any:
    """What one of two functions gives. Both are called once, now, and add their nodes; a run computes one of them.

    What they take from outside is computed in any case.
    Raises TypeError for a Python bool, which would have been decided now, or for different numbers of results.
    """
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    graph = pred.graph
    with graph.as_default(), graph.name_scope(name) as scope:
        branches = [Body(graph, (), function) for function in (true_fn, false_fn)]
        counts = [len(body.results) for body in branches]
        if counts[0] != counts[1]:
            raise TypeError(
                f"true_fn and false_fn must return the same number of results, got {counts[0]}, {counts[1]}"
            )
        captured = dict.fromkeys(tensor for body in branches for tensor in body.captured)
        op = graph.create_op("Cond", [pred, *captured], f"{scope}Merge/", {"branches": branches}, counts[0])
    return _as_given(op, branches[0].is_single)


def while_loop(
    cond: Callable[..., Tensor], body: Callable[..., Any], loop_vars: Sequence[Any], name: str = "while"
) -> Any:
    """The loop variables after `body` was applied as long as `cond` holds. Both functions are called once, now.

    Raises ValueError when the body returns another number of variables.
    """
    graph: Graph = get_default_graph()
    with graph.name_scope(name) as scope:
        start = [convert(each, f"start_{place}") for place, each in enumerate(loop_vars)]
        bodies = []
        for function in (cond, body):
            parameters = [graph.create_op("LoopVariable", (), "variable").outputs[0] for _ in start]
            bodies.append(Body(graph, parameters, function))
        found = len(bodies[1].results)
        if found != len(start):
            raise ValueError(f"The body returned {found} loop variables, it was given {len(start)}.")
        captured = dict.fromkeys(tensor for each in bodies for tensor in each.captured)
        attributes = {"test": bodies[0], "body": bodies[1]}
        op = graph.create_op("While", [*start, *captured], f"{scope}Exit/", attributes, len(start))
    return _as_given(op, bodies[1].is_single)


def _as_given(op: Operation, is_single: bool) -> Any:
    return op.outputs[0] if is_single else op.outputs
