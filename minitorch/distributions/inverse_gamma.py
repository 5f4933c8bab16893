"""The inverse Gamma distribution. Source: https://pytorch.org/docs/stable/distributions.html#inversegamma"""

from __future__ import annotations

import math

from minitorch.distributions import constraints
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import PowerTransform
from minitorch.distributions.utils import Parameter, formula
from minitorch.tensor import Tensor


class InverseGamma(TransformedDistribution):
    """1/x of a gamma number x."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Parameter, rate: Parameter, validate_args: bool | None = None) -> None:
        base_dist = Gamma(concentration, rate, validate_args=validate_args)
        reciprocal = PowerTransform(-base_dist.rate.new_ones(()))
        super().__init__(base_dist, reciprocal, validate_args=validate_args)

    concentration = formula(lambda self: self.base_dist.concentration)
    rate = formula(lambda self: self.base_dist.rate)
    mean = formula(lambda self: (self.rate / (self.concentration - 1)).where(self.concentration > 1, math.inf))
    mode = formula(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self) -> Tensor:
        variance = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return variance.where(self.concentration > 2, math.inf)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha + self.rate.log() + alpha.lgamma() - (1 + alpha) * alpha.digamma()
