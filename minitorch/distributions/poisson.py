"""The Poisson distribution. Source: https://pytorch.org/docs/stable/distributions.html#poisson"""

from __future__ import annotations

from minitorch.autograd.grad_mode import no_grad
from minitorch.distributions import constraints
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import Parameter, Shape, broadcast_all
from minitorch.ops.sampling import poisson
from minitorch.tensor import Tensor


class Poisson(ExponentialFamily):
    """The number k of events with probability rateᵏ exp(−rate) / k!."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _members = ("rate",)

    def __init__(self, rate: Parameter, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (log_rate,) = natural_params
        return log_rate.exp()
