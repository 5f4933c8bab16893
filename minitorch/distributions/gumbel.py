"""The Gumbel distribution. Source: https://pytorch.org/docs/stable/distributions.html#gumbel"""

from __future__ import annotations

import math

from minitorch.distributions import constraints
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import AffineTransform, ExpTransform
from minitorch.distributions.uniform import Uniform
from minitorch.distributions.utils import Parameter, broadcast_all, euler_constant
from minitorch.dtypes import finfo
from minitorch.ops.creation import full_like
from minitorch.tensor import Tensor


class Gumbel(TransformedDistribution):
    """loc − scale · ln(−ln u) with u uniform in (0, 1): the largest of many numbers has about this distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _members = ("loc", "scale")

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps)
        log = ExpTransform().inv
        negative = AffineTransform(loc=0, scale=-self.scale.new_ones(self.scale.shape))
        transforms = [log, negative, log, AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
