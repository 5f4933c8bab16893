"""The Gumbel distribution. Source: https://pytorch.org/docs/stable/distributions.html#gumbel"""

from __future__ import annotations

import math

from minitorch import Tensor, finfo, full_like
from minitorch.distributions import constraints
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import AffineTransform, ExpTransform
from minitorch.distributions.uniform import Uniform
from minitorch.distributions.utils import Parameter, broadcast_all, euler_constant, formula


class Gumbel(TransformedDistribution):
    """loc − scale · ln(−ln u) with u uniform in (0, 1): the largest of many numbers has about this distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps)
        log = ExpTransform().inv
        negative = AffineTransform(loc=0, scale=-self.scale.new_ones(self.scale.shape))
        transforms = [log, negative, log, AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    mean = formula(lambda self: self.loc + self.scale * euler_constant)
    mode = formula(lambda self: self.loc)
    stddev = formula(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = formula(lambda self: self.stddev.pow(2))

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
