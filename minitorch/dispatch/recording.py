"""How an op is recorded: its derivatives, the names of its nodes, and the plans that were made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.dispatch.formulas import Derivative, Formula, parameters_of
from minitorch.dispatch.plan import Plan

if TYPE_CHECKING:
    from minitorch.autograd.node import OpNode
    from minitorch.dispatch.op import Op
    from minitorch.dispatch.schema import Schema


class Recording:
    """An op's derivative formulas, keyed by the inputs they serve, and the node classes and plans built from them.

    `node` is the node's name, or a function of the arguments that returns it. With `saves_all`, every value that a
    formula names is saved, whichever inputs need gradients; with `saves_number`, a number is saved as a number, not as
    a tensor.
    """

    __slots__ = (
        *("derivatives", "differentiable", "formulas", "gradient_sequence", "is_overloaded", "node_name", "nodes"),
        *("plans", "saves_all", "saves_number", "saves_self"),
    )

    def __init__(
        self,
        schema: Schema,
        formulas: Mapping[str, Formula],
        node: str | Callable[..., str] | None,
        *,
        edits: bool,
        saves_all: bool,
        saves_number: bool,
    ) -> None:
        names = (name.strip() for inputs in formulas for name in inputs.split(","))
        self.differentiable = tuple(sorted(schema.positions[name] for name in names))
        self.gradient_sequence = next((each for each in self.differentiable if each in schema.sequences), None)
        self.node_name = node or "".join(part.capitalize() for part in schema.name.strip("_").split("_")) + "Backward0"
        self.is_overloaded = callable(node)
        self.saves_all, self.saves_number = saves_all, saves_number
        self.saves_self = edits and any("self" in parameters_of(formula) for formula in formulas.values())
        self.formulas = formulas
        self.derivatives: tuple[Derivative, ...] | None = None
        self.nodes: dict[str, type[OpNode]] = {}
        self.plans: dict[Any, Plan] = {}

    def plan(self, op: Op, mask: int, args: Sequence[Any]) -> Plan:
        """What `op` saves, and which formulas run, when the inputs in the bit set `mask` need gradients."""
        key: Any = (mask, self.node_name(*args)) if callable(self.node_name) else mask
        plan = self.plans.get(key)
        if plan is None:
            if self.derivatives is None:  # not before, since hundreds of ops are declared and few are differentiated
                self.derivatives = tuple(Derivative(op, names, each) for names, each in self.formulas.items())
            plan = self.plans[key] = Plan(op, mask, args)
        return plan
