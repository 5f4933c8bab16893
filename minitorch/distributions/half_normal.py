"""The half-normal distribution. Source: https://pytorch.org/docs/stable/distributions.html#halfnormal"""

from __future__ import annotations

import math

from minitorch.distributions import constraints
from minitorch.distributions.normal import Normal
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import AbsTransform
from minitorch.distributions.utils import Parameter
from minitorch.tensor import Tensor


class HalfNormal(TransformedDistribution):
    """|x| of a normal number with mean 0 and standard deviation `scale`."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal
    _members = ()

    def __init__(self, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return self.scale.new_zeros(self.scale.shape)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return (self.base_dist.log_prob(value) + math.log(2)).where(value >= 0, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
