"""The Bernoulli distribution. Source: https://pytorch.org/docs/stable/distributions.html#bernoulli"""

from __future__ import annotations

import math

from minitorch import Tensor, arange, bernoulli, no_grad
from minitorch.distributions import constraints
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import BinaryParameter, Parameter, Shape, broadcast_all, formula
from minitorch.nn.functional import binary_cross_entropy_with_logits


class Bernoulli(BinaryParameter, ExponentialFamily):
    """1 with probability `probs`, else 0; `logits` is ln(probs/(1 − probs))."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Parameter | None = None, logits: Parameter | None = None, validate_args: bool | None = None
    ) -> None:
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    mean = formula(lambda self: self.probs)
    mode = formula(lambda self: (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan))
    variance = formula(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    _natural_params = formula(lambda self: (self.probs.logit(),))

    def _log_normalizer(self, logits: Tensor) -> Tensor:
        return logits.exp().log1p()
