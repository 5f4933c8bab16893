"""Derivatives that are one kernel in PyTorch: of two-byte floats they are computed in float32, and rounded once.

A formula of several ops would round after each of them.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.formulas import Formula, parameters_of
from minitorch.tensor import Tensor


class RoundedOnce:
    """A formula whose first parameter is the gradient, and which returns one or several in the gradient's type."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.parameters = parameters_of(formula)

    def __call__(self, grad: Tensor, *values: Any) -> Any:
        kind = grad._dtype
        if not kind.is_low_precision:
            return self.formula(grad, *values)
        wide = [each.float() if isinstance(each, Tensor) and each._dtype is kind else each for each in values]
        result = self.formula(grad.float(), *wide)
        return tuple(each.to(kind) for each in result) if isinstance(result, tuple) else result.to(kind)
