"""What a graph that is known before it runs allows: dropping what nobody needs, computing once what never changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import minitorch as torch
from course.tensorflow1.graph import Graph, Operation, Tensor, in_order
from course.tensorflow1.kernels import is_pure, run_kernel


def prune(fetches: Any) -> Graph:
    """A graph with only the nodes that the fetches need, under the same names."""
    return _rebuilt(_operations(fetches), fold=False)


def fold_constants(fetches: Any) -> Graph:
    """The pruned graph, in which each node that depends on constants alone has become a constant."""
    folded = _rebuilt(_operations(fetches), fold=True)
    return _rebuilt([folded.operations[op.name] for op in _operations(fetches)], fold=False)


def _operations(fetches: Any) -> list[Operation]:
    listed = fetches if isinstance(fetches, (list, tuple)) else [fetches]
    found = [getattr(each, "read", each) for each in listed]
    return [each.op if isinstance(each, Tensor) else each for each in found]


def _rebuilt(targets: Iterable[Operation], fold: bool) -> Graph:
    """A copy of what the targets need.

    Raises NotImplementedError for a branch or loop, whose parts are functions of their own.
    """
    made = Graph()
    for op in in_order(targets):
        if op.type in ("Cond", "While"):
            raise NotImplementedError(f"'{op.name}' is a {op.type}: only graphs without control flow are rebuilt")
        inputs = [made.operations[each.op.name].outputs[each.value_index] for each in op.inputs]
        made.controls = tuple(made.operations[each.name] for each in op.control_inputs)
        is_known = fold and inputs and is_pure(op) and all(each.op.type == "Const" for each in inputs)
        if is_known:
            with torch.no_grad():
                value = run_kernel(op, [each.op.attributes["value"] for each in inputs])
            made.create_op("Const", (), f"{op.name}/", {"value": value})
        else:
            made.create_op(op.type, inputs, f"{op.name}/", op.attributes, len(op.outputs))
    made.controls = ()
    return made
