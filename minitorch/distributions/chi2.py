"""The χ² distribution. Source: https://pytorch.org/docs/stable/distributions.html#chi2"""

from __future__ import annotations

from minitorch.distributions import constraints
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.utils import Parameter, formula


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers: Gamma(df/2, ½)."""

    arg_constraints = {"df": constraints.positive}
    _members = ("concentration", "rate")

    def __init__(self, df: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = formula(lambda self: self.concentration * 2)
