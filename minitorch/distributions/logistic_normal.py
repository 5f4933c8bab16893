"""The logistic normal distribution. Source: https://pytorch.org/docs/stable/distributions.html#logisticnormal"""

from __future__ import annotations

from typing import Any

from minitorch.distributions import constraints
from minitorch.distributions.normal import Normal
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import StickBreakingTransform
from minitorch.distributions.utils import Parameter, formula


class LogisticNormal(TransformedDistribution):
    """k + 1 shares of a stick that is broken at k places, each the sigmoid of a normal number."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Any

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        base_dist = Normal(loc, scale, validate_args=validate_args)
        if not base_dist.batch_shape:
            base_dist = base_dist.expand([1])
        super().__init__(base_dist, StickBreakingTransform(), validate_args=validate_args)

    loc = formula(lambda self: self.base_dist.base_dist.loc)
    scale = formula(lambda self: self.base_dist.base_dist.scale)
