"""Tracing: running a Python function once on symbols, and keeping the graph that it built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course.tensorflow1.graph import Graph, Tensor
from course.tensorflow1.operations import convert
from course.tensorflow1.session import Session


class Traced:
    """A function as a graph: called with tensors, it runs the graph, not the function."""

    def __init__(self, graph: Graph, inputs: list[Tensor], outputs: Any) -> None:
        self.graph, self.inputs, self.outputs = graph, inputs, outputs

    def __call__(self, *values: Any) -> Any:
        """The results of the graph for these inputs. Raises TypeError for another number of them."""
        if len(values) != len(self.inputs):
            raise TypeError(f"the function was traced with {len(self.inputs)} inputs, got {len(values)}")
        return Session(self.graph).run(self.outputs, dict(zip(self.inputs, values, strict=True)))


def trace(function: Callable[..., Any], *examples: Any) -> Traced:
    """Call a function of tensors once, with symbols in the place of the examples, and keep the graph.

    It may use operators and methods, and tensors from outside, which become constants. What it asks of a symbol's
    value (`if`, `float`) is answered by the example, and is not in the graph.
    """
    graph = Graph()
    graph.is_traced = True
    with graph.as_default():
        inputs = []
        for number, example in enumerate(examples):
            op = graph.create_op("Placeholder", (), f"arg{number}", {"dtype": example.dtype, "shape": None})
            op.outputs[0].example = example.detach()
            inputs.append(op.outputs[0])
        answer = function(*inputs)
        several = isinstance(answer, (list, tuple))
        outputs = [convert(each) for each in answer] if several else convert(answer)
    return Traced(graph, inputs, outputs)
