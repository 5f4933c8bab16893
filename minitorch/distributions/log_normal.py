"""The log-normal distribution. Source: https://pytorch.org/docs/stable/distributions.html#lognormal"""

from __future__ import annotations

from minitorch.distributions import constraints
from minitorch.distributions.normal import Normal
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import ExpTransform
from minitorch.distributions.utils import Parameter, formula
from minitorch.tensor import Tensor


class LogNormal(TransformedDistribution):
    """exp of a normal number with mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        base_dist = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base_dist, ExpTransform(), validate_args=validate_args)

    loc = formula(lambda self: self.base_dist.loc)
    scale = formula(lambda self: self.base_dist.scale)
    mean = formula(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = formula(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
