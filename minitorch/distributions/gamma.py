"""The Gamma distribution. Source: https://pytorch.org/docs/stable/distributions.html#gamma"""

from __future__ import annotations

from minitorch.distributions import constraints
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import Parameter, Shape, broadcast_all
from minitorch.dtypes import finfo
from minitorch.ops.data import as_tensor
from minitorch.ops.sampling_gradients import _standard_gamma
from minitorch.ops.special_functions import xlogy
from minitorch.tensor import Tensor


class Gamma(ExponentialFamily):
    """Density in proportion to x^(concentration − 1) exp(−rate x) on x ≥ 0."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _members = ("concentration", "rate")

    def __init__(self, concentration: Parameter, rate: Parameter, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value: Tensor = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # the density may be infinite at 0
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check(value)
        alpha = self.concentration
        return xlogy(alpha, self.rate) + xlogy(alpha - 1, value) - self.rate * value - alpha.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        from minitorch.special import gammainc

        self._check(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha - self.rate.log() + alpha.lgamma() + (1.0 - alpha) * alpha.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        first, second = natural_params
        return (first + 1).lgamma() + (first + 1) * (-second.reciprocal()).log()
