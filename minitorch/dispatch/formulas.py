"""The formulas of derivatives: what each asks for, by the names of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitorch.dispatch.op import Op
    from minitorch.tensor import Tensor

Formula = Callable[..., Any]

NOT_IMPLEMENTED = "torch::autograd::NotImplemented"
"""The name of nodes that only say that there is no derivative."""

# Where a formula's parameter comes from.
ARGUMENT, SHAPE, STRIDE, DTYPE, RESULT, GRAD, GRADS, MASK, MEMORY, PLAIN = range(10)
_METADATA = {"shape": SHAPE, "stride": STRIDE, "dtype": DTYPE}
_SPECIAL = {"grad": GRAD, "grads": GRADS, "result": RESULT, "output_mask": MASK, "memory": MEMORY}
SAVED = (ARGUMENT, SHAPE, STRIDE, DTYPE, RESULT)


class Derivative:
    """A formula, the inputs whose gradients it computes, and where its parameters come from."""

    __slots__ = ("formula", "inputs", "mask", "sources")

    def __init__(self, op: Op, inputs: str, formula: Formula) -> None:
        self.inputs = tuple(op.schema.positions[name.strip()] for name in inputs.split(","))
        self.mask = sum(1 << position for position in self.inputs)
        self.formula = formula
        self.sources = tuple(_source(op, name) for name in parameters_of(formula))


def passed_on(grad: Tensor) -> Tensor:
    """The derivative in a term of a sum: the gradient itself. `Plan` knows it, which saves the call."""
    return grad


def parameters_of(formula: Formula) -> tuple[str, ...]:
    """The names of a formula's parameters."""
    if isinstance(formula, FunctionType):
        return formula.__code__.co_varnames[: formula.__code__.co_argcount]
    names: tuple[str, ...] = formula.parameters  # type: ignore[attr-defined]
    return names


def _source(op: Op, name: str) -> tuple[int, int]:
    if name in op.schema.positions:
        return ARGUMENT, op.schema.positions[name]
    if name in _SPECIAL:
        return _SPECIAL[name], 0
    stem, _, suffix = name.rpartition("_")
    if stem in op.schema.positions and suffix in _METADATA:
        return _METADATA[suffix], op.schema.positions[stem]
    if name.startswith("result") and name[6:].isdigit():
        return RESULT, int(name[6:])
    raise TypeError(f"the derivative of {op.name} asks for {name!r}, which is neither a parameter nor an output")
