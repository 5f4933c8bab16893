"""Gradients as more nodes of the graph, and optimizers as nodes that write to variables.

Source: https://www.tensorflow.org/api_docs/python/tf/compat/v1/gradients
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from course.tensorflow1.derivatives import GRADIENTS
from course.tensorflow1.graph import Operation, Tensor, get_default_graph, in_order
from course.tensorflow1.operations import add_n, convert, group, ones_like
from course.tensorflow1.variables import Variable, trainable_variables

WITHOUT = {"Const", "Placeholder", "VariableV2", "StopGradient", "ZerosLike", "OnesLike"}
WITHOUT |= {"Greater", "Less", "GreaterEqual", "LessEqual", "RandomUniform", "RandomStandardNormal", "LoopVariable"}
"""Types through which nothing comes back."""


def gradients(ys: Any, xs: Any, name: str = "gradients") -> list[Tensor | None]:
    """Build nodes for the derivatives of the sum of `ys` by each of `xs`; None where none depends on it.

    Raises LookupError for an operation between them that has no gradient.
    """
    targets, sources = ([convert(each) for each in _listed(given)] for given in (ys, xs))
    graph = get_default_graph()
    arrived: dict[Tensor, list[Tensor]] = {}
    with graph.name_scope(name):
        for y in targets:
            arrived.setdefault(y, []).append(ones_like(y, name="grad_ys"))
        wanted = _between([y.op for y in targets], sources)
        for op in reversed(in_order([y.op for y in targets])):
            if op not in wanted or not op.outputs or op.outputs[0] not in arrived:
                continue
            output = op.outputs[0]
            if op.type not in GRADIENTS:
                raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
            with graph.name_scope(f"{op.name}_grad"):
                grads = GRADIENTS[op.type](op, _total(arrived, output))
            for tensor, grad in zip(op.inputs, grads, strict=True):
                if grad is not None and (tensor.op in wanted or tensor in sources):
                    arrived.setdefault(tensor, []).append(grad)
        return [_total(arrived, x) if x in arrived else None for x in sources]


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _between(ends: Sequence[Operation], sources: Sequence[Tensor]) -> set[Operation]:
    """The operations on the paths from the sources to the ends."""
    reached: set[Operation] = set()
    for op in in_order(ends):
        if op.type not in WITHOUT and any(each in sources or each.op in reached for each in op.inputs):
            reached.add(op)
    return reached


def _total(arrived: dict[Tensor, list[Tensor]], tensor: Tensor) -> Tensor:
    found = arrived[tensor]
    if len(found) > 1:
        arrived[tensor] = found = [add_n(found)]
    return found[0]


class GradientDescentOptimizer:
    """Steps of plain gradient descent: a node per variable that subtracts learning_rate · gradient."""

    def __init__(self, learning_rate: float, name: str = "GradientDescent") -> None:
        self.learning_rate, self.name = learning_rate, name

    def compute_gradients(
        self, loss: Tensor, var_list: Sequence[Variable] | None = None
    ) -> list[tuple[Tensor | None, Variable]]:
        """Pairs of gradient and variable; of all trainable variables if none are named."""
        variables = trainable_variables() if var_list is None else list(var_list)
        return list(zip(gradients(loss, variables), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Sequence[tuple[Tensor | None, Variable]]) -> Operation:
        """A node that takes one step. Raises ValueError where no variable has a gradient."""
        graph = get_default_graph()
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        if not pairs:
            names = [variable.name for _, variable in grads_and_vars]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        with graph.name_scope(self.name) as scope:
            rate = convert(self.learning_rate, "learning_rate")
            writes = []
            for grad, variable in pairs:
                with graph.name_scope(f"update_{variable.op.name}"):
                    attributes = {"variable": variable.op.name}
                    writes.append(
                        graph.create_op("ApplyGradientDescent", [grad, rate], "ApplyGradientDescent", attributes)
                    )
            return group(*writes, name=scope)

    def minimize(self, loss: Tensor, var_list: Sequence[Variable] | None = None) -> Operation:
        """A node that takes one step down the loss."""
        return self.apply_gradients(self.compute_gradients(loss, var_list))
