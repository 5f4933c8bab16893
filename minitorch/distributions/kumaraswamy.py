"""The Kumaraswamy distribution. Source: https://pytorch.org/docs/stable/distributions.html#kumaraswamy"""

from __future__ import annotations

import math

from minitorch import Tensor, full_like
from minitorch.distributions import constraints
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import AffineTransform, PowerTransform
from minitorch.distributions.uniform import Uniform
from minitorch.distributions.utils import Parameter, broadcast_all, euler_constant, formula


class Kumaraswamy(TransformedDistribution):
    """(1 − u^(1/concentration0))^(1/concentration1), u uniform: much like Beta, with a simple cdf."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Parameter, concentration0: Parameter, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        base_dist = Uniform(full_like(b, 0), full_like(b, 1), validate_args=validate_args)
        transforms = [
            PowerTransform(b.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(a.reciprocal()),
        ]
        super().__init__(base_dist, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """E[xⁿ] = b B(1 + n/a, b)."""
        b, first = self.concentration0, 1 + n / self.concentration1
        return b * (first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()

    mean = formula(lambda self: self._moment(1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()  # PyTorch's, which is NaN for b > 1
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    variance = formula(lambda self: self._moment(2) - self.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
