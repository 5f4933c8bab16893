"""The Bernoulli distribution relaxed to a continuous one.

Source: https://pytorch.org/docs/stable/distributions.html#relaxedbernoulli
"""

from __future__ import annotations

from minitorch import Tensor, rand
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import SigmoidTransform
from minitorch.distributions.utils import BinaryParameter, Parameter, Shape, broadcast_all, clamp_probs, formula


class LogitRelaxedBernoulli(BinaryParameter, Distribution):
    """Log-odds of the points of `RelaxedBernoulli`: (logits + logistic noise) / temperature.

    Maddison, Mnih and Teh 2016, https://arxiv.org/abs/1611.00712.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        uniform = clamp_probs(rand(probs.shape, dtype=probs.dtype, device=probs.device))
        return (uniform.log() - (-uniform).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1), near 0 and 1 for a low `temperature`, with a gradient."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base_dist = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base_dist, SigmoidTransform(), validate_args=validate_args)

    temperature = formula(lambda self: self.base_dist.temperature)
    logits = formula(lambda self: self.base_dist.logits)
    probs = formula(lambda self: self.base_dist.probs)
