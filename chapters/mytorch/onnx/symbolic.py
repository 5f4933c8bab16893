"""A graph that holds for every batch size: what two traces, on batches of different sizes, have in common."""

# 20b · Export
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor, views
from ..graph import Graph, Step, rebuilt, replace, run


def generalize(one: Graph, other: Graph) -> Graph:
    """`one`, with -1 for the length in which the size of a view differs from that in `other`."""
    twins: dict[Any, Any] = dict(zip(one.inputs, other.inputs, strict=True))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=True):
        twins[step] = twin
        args = step.args
        if step.op is twin.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name if step.op else 'a step'} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    steps = [general[step] for step in one.steps]
    return Graph(one.inputs, steps, replace(one.output, lambda each: general.get(each, each)))


def open_size(size: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """A size with -1 where it differs from the other one."""
    opened = tuple(length if length == twin else -1 for length, twin in zip(size, other, strict=True))
    if opened.count(-1) > 1:
        raise ValueError(f"more than one length of a view depends on the batch size: {size} and {other}")
    return opened


def alike(one: Any, other: Any, twins: dict[Any, Any]) -> bool:
    """Whether two arguments are the same: twins, tensors of equal numbers, equal values, or lists of such."""
    if isinstance(one, Step):
        return twins.get(one) is other
    if isinstance(one, Tensor):
        return isinstance(other, Tensor) and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(alike(*pair, twins) for pair in zip(one, other, strict=True))
    return bool(one == other)


def results(graph: Graph, examples: Sequence[Tensor]) -> dict[Step, Tensor]:
    """The result of each step for the examples."""
    found = run(Graph(graph.inputs, graph.steps, graph.steps), *examples)
    return dict(zip((*graph.inputs, *graph.steps), (*examples, *found), strict=True))


def drop_whole_slices(graph: Graph, examples: Sequence[Tensor]) -> Graph:
    """The graph without slices such as `x[:]`, which take all of a dimension: where they end is a batch size, too."""
    values = results(graph, examples)
    whole = iter([step.op is views.slice and values[step].shape == values[step.args[0]].shape for step in graph.steps])
    return rebuilt(graph, lambda step: step.args[0] if next(whole) else step)
