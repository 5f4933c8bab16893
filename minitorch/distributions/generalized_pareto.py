"""The generalized Pareto distribution.

Source: https://pytorch.org/docs/stable/distributions.html#generalizedpareto
"""

from __future__ import annotations

import math

from minitorch import Tensor, rand, where
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Parameter, Shape, broadcast_all, formula


class GeneralizedPareto(Distribution):
    """What lies above a high threshold `loc`: P(x > loc + scale z) = (1 + concentration z)^(−1/concentration).

    For concentration 0 it is exp(−z).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(
        self, loc: Parameter, scale: Parameter, concentration: Parameter, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    _is_exponential = formula(lambda self: self.concentration.isclose(self.concentration.new_zeros(())))
    _nonzero = formula(lambda self: where(self._is_exponential, 1.0, self.concentration))

    def _z(self, value: Tensor) -> Tensor:
        return (value - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        return where(valid, self.loc + self.scale / (1 - where(valid, self.concentration, 0.5)), math.nan)

    mode = formula(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        shape = where(valid, self.concentration, 0.25)
        return where(valid, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _log_prob(self, value: Tensor) -> Tensor:
        z, shape = self._z(value), self._nonzero
        power = 1 / shape + z.new_ones(z.shape)
        density = where(power == 0, power, power * (shape * z).log1p())
        return -self.scale.log() - where(self._is_exponential, z, density)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """ln P(x > value)."""
        self._check(value)
        z, shape = self._z(value), self._nonzero
        return where(self._is_exponential, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """ln P(x ≤ value)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        log_tail, shape = (-value).log1p(), self._nonzero
        quantile = self.loc + self.scale / shape * (-shape * log_tail).expm1()
        return where(self._is_exponential, self.loc - self.scale * log_tail, quantile)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)
