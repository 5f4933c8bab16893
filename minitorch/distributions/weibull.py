"""The Weibull distribution. Source: https://pytorch.org/docs/stable/distributions.html#weibull"""

from __future__ import annotations

from minitorch.distributions import constraints
from minitorch.distributions.exponential import Exponential
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import AffineTransform, PowerTransform
from minitorch.distributions.utils import Parameter, broadcast_all, euler_constant, formula
from minitorch.tensor import Tensor


class Weibull(TransformedDistribution):
    """scale · x^(1/concentration) of an exponential number x with rate 1."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _members = ("concentration_reciprocal",)

    def __init__(self, scale: Parameter, concentration: Parameter, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base_dist = Exponential(self.scale.new_ones(self.scale.shape), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base_dist, transforms, validate_args=validate_args)

    mean = formula(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        square = (1 + 2 * self.concentration_reciprocal).lgamma().exp()
        return self.scale.pow(2) * (square - (2 * (1 + self.concentration_reciprocal).lgamma()).exp())

    def entropy(self) -> Tensor:
        share = self.concentration_reciprocal
        return euler_constant * (1 - share) + (self.scale * share).log() + 1
