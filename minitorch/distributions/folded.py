"""What the half-normal and the half-Cauchy distribution share: the absolute value of a number symmetric about 0."""

from __future__ import annotations

import math
from typing import Any

from minitorch.distributions import constraints
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import AbsTransform
from minitorch.distributions.utils import formula
from minitorch.tensor import Tensor


class Folded(TransformedDistribution):
    """The distribution of |x|, which has twice the density of x."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    def __init__(self, base_dist: Any, validate_args: bool | None) -> None:
        super().__init__(base_dist, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of x."""
        return self.base_dist.scale

    mode = formula(lambda self: self.scale.new_zeros(self.scale.shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        return (self.base_dist.log_prob(value) + math.log(2)).where(value >= 0, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
