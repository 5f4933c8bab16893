"""The Poisson distribution. Source: https://pytorch.org/docs/stable/distributions.html#poisson"""

from __future__ import annotations

from minitorch import Tensor, no_grad, poisson
from minitorch.distributions import constraints
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import Parameter, Shape, broadcast_all, formula


class Poisson(ExponentialFamily):
    """The number k of events with probability rateᵏ exp(−rate) / k!."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Parameter, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = formula(lambda self: self.rate)
    mode = formula(lambda self: self.rate.floor())
    variance = formula(lambda self: self.rate)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = formula(lambda self: (self.rate.log(),))

    def _log_normalizer(self, log_rate: Tensor) -> Tensor:
        return log_rate.exp()
