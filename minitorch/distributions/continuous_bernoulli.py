"""The continuous Bernoulli distribution. Source: https://pytorch.org/docs/stable/distributions.html#continuousbernoulli"""

from __future__ import annotations

import math

from minitorch import Tensor, rand, where
from minitorch.distributions import constraints
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import (
    BinaryParameter,
    Parameter,
    Shape,
    broadcast_all,
    clamp_probs,
    formula,
    lazy_property,
    logits_to_probs,
)
from minitorch.nn.functional import binary_cross_entropy_with_logits


class ContinuousBernoulli(BinaryParameter, ExponentialFamily):
    """Density in proportion to probs^x (1 − probs)^(1 − x) on [0, 1].

    Between the two `lims` around ½, where the formulas have a removable singularity, Taylor series stand in for them.
    Loaiza-Ganem and Cunningham 2019, https://arxiv.org/abs/1907.06845.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _kept = ("_lims",)

    def __init__(
        self,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_parameter(probs, logits)
        if probs is not None:
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    probs = lazy_property(lambda self: clamp_probs(logits_to_probs(self.logits, is_binary=True)))

    _is_stable = formula(lambda self: (self.probs <= self._lims[0]) | (self.probs > self._lims[1]))
    _stable_probs = formula(lambda self: where(self._is_stable, self.probs, self._lims[0]))

    def _cont_bern_log_norm(self) -> Tensor:
        """ln of the factor that makes the density integrate to 1."""
        p = self._stable_probs
        below, above = where(p <= 0.5, p, 0.0), where(p >= 0.5, p, 1.0)
        log_distance = where(p <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return where(self._is_stable, ((-p).log1p() - p.log()).abs().log() - log_distance, taylor)

    @property
    def mean(self) -> Tensor:
        p, x = self._stable_probs, self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return where(self._is_stable, p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()), taylor)

    @property
    def variance(self) -> Tensor:
        p, x = self._stable_probs, (self.probs - 0.5).pow(2)
        variance = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2)
        return where(self._is_stable, variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def _cdf(self, value: Tensor) -> Tensor:
        p = self._stable_probs
        inside = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = where(self._is_stable, inside, value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._stable_probs
        quantile = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(self._is_stable, quantile, value)

    def entropy(self) -> Tensor:
        log_probs0 = (-self.probs).log1p()
        return self.mean * (log_probs0 - self.probs.log()) - self._cont_bern_log_norm() - log_probs0

    _natural_params = formula(lambda self: (self.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        is_stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        stable = where(is_stable, x, self._lims[0] - 0.5)
        taylor = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return where(is_stable, stable.expm1().abs().log() - stable.abs().log(), taylor)
