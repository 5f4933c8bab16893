"""The Beta distribution. Source: https://pytorch.org/docs/stable/distributions.html#beta"""

from __future__ import annotations

from minitorch.distributions import constraints
from minitorch.distributions.dirichlet import Dirichlet
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import Parameter, Shape, broadcast_all
from minitorch.ops.joining import stack
from minitorch.tensor import Tensor


class Beta(ExponentialFamily):
    """Density in proportion to x^(concentration1 − 1) (1 − x)^(concentration0 − 1) on [0, 1].

    It is the first share of a Dirichlet distribution of two.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _members = ("_dirichlet",)

    def __init__(self, concentration1: Parameter, concentration0: Parameter, validate_args: bool | None = None) -> None:
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        first, second = natural_params
        return first.lgamma() + second.lgamma() - (first + second).lgamma()
