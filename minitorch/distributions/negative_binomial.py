"""The negative binomial distribution. Source: https://pytorch.org/docs/stable/distributions.html#negativebinomial"""

from __future__ import annotations

from minitorch import Tensor, no_grad, poisson
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.utils import BinaryParameter, Parameter, Shape, formula
from minitorch.nn.functional import logsigmoid


class NegativeBinomial(BinaryParameter, Distribution):
    """The number of successes before `total_count` failures, each trial succeeding with `probs` = sigmoid(`logits`)."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Parameter,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._set_parameter(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    mean = formula(lambda self: self.total_count * self.logits.exp())
    mode = formula(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = formula(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Poisson numbers whose rates are gamma numbers."""
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return poisson(rates.sample(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        ways = ways.masked_fill(n + value == 0.0, 0.0)
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways
