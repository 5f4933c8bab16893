"""The Bernoulli distribution relaxed to a continuous one.

Source: https://pytorch.org/docs/stable/distributions.html#relaxedbernoulli
"""

from __future__ import annotations

from typing import Any

from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import SigmoidTransform
from minitorch.distributions.utils import BinaryParameter, Parameter, Shape, broadcast_all, clamp_probs
from minitorch.ops.sampling import rand
from minitorch.tensor import Tensor


class LogitRelaxedBernoulli(BinaryParameter, Distribution):
    """Log-odds of the points of `RelaxedBernoulli`: (logits + logistic noise) / temperature.

    Maddison, Mnih and Teh 2016, https://arxiv.org/abs/1611.00712.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _members = ("probs", "logits", "_param")

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

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        uniform = clamp_probs(rand(probs.shape, dtype=probs.dtype, device=probs.device))
        return (uniform.log() - (-uniform).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1), near 0 and 1 for a low `temperature`, with a gradient."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli
    _members = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base_dist = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base_dist, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        return self.base_dist.probs
