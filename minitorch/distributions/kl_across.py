"""KL(p‖q) of distributions of two families: −entropy(p) − E_p[ln q(x)].

It is infinite where p reaches beyond the support of q.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.distributions.bernoulli import Bernoulli
from minitorch.distributions.beta import Beta
from minitorch.distributions.binomial import Binomial
from minitorch.distributions.exponential import Exponential
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.gumbel import Gumbel
from minitorch.distributions.kl import register_kl
from minitorch.distributions.laplace import Laplace
from minitorch.distributions.normal import Normal
from minitorch.distributions.poisson import Poisson
from minitorch.distributions.uniform import Uniform
from minitorch.distributions.utils import euler_constant
from minitorch.tensor import Tensor

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _infinite(p: Any, q: Any) -> Tensor:
    """For a p that always reaches beyond the support of q."""
    parameter: Tensor = getattr(p, next(iter(p.arg_constraints)))
    return parameter.new_full(parameter.shape, math.inf)


for _p, _all_q in {
    Exponential: (Beta, Uniform),
    Gamma: (Beta, Uniform),
    Gumbel: (Beta, Exponential, Gamma, Uniform),
    Laplace: (Beta, Exponential, Gamma, Uniform),
    Normal: (Beta, Exponential, Gamma, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _all_q:
        register_kl(_p, _q)(_infinite)


def _minus_log_normal(mean: Tensor, square: Tensor, q: Normal) -> Tensor:
    """−E[ln q(x)] of a normal q, from E[x] and E[x²]."""
    squared_distance = square - 2 * q.loc * mean + q.loc.pow(2)
    return q.scale.log() + _HALF_LOG_TWO_PI + 0.5 * squared_distance / q.scale.pow(2)


def _minus_log_gamma(mean: Tensor, mean_log: Tensor, q: Gamma) -> Tensor:
    """−E[ln q(x)] of a gamma q, from E[x] and E[ln x]."""
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer - (q.concentration - 1) * mean_log + q.rate * mean


def _minus_log_exponential(mean: Tensor, q: Exponential) -> Tensor:
    return q.rate * mean - q.rate.log()


def _minus_log_gumbel(mean: Tensor, mean_exp: Tensor, q: Gumbel) -> Tensor:
    """−E[ln q(x)] of a Gumbel q, from E[x] and E[exp(−x/scale)]."""
    return q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_exp


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Exponential)
def _beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() + _minus_log_exponential(p.mean, q)


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return -p.entropy() + _minus_log_gamma(p.mean, mean_log, q)


@register_kl(Beta, Normal)
def _beta_normal(p: Beta, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, p.variance + p.mean.pow(2), q)


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > 0) | (q.high < 1), math.inf)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return -p.entropy() + _minus_log_gamma(p.mean, -euler_constant - p.rate.log(), q)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product = p.rate * q.scale
    return -p.entropy() + _minus_log_gumbel(p.mean, product / (product + 1), q)


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, 2 * p.rate.pow(-2), q)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() + _minus_log_exponential(p.mean, q)


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    mean_exp = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return -p.entropy() + _minus_log_gumbel(p.mean, mean_exp, q)


@register_kl(Gamma, Normal)
def _gamma_normal(p: Gamma, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, p.variance + p.mean.pow(2), q)


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, p.variance + p.mean.pow(2), q)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Laplace, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, p.variance + p.mean.pow(2), q)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    mean_exp = (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    return -p.entropy() + _minus_log_gumbel(p.loc, mean_exp, q)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    z = (p.loc - q.loc) / p.scale
    mean_distance = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * z.pow(2)).exp() + z * (math.sqrt(0.5) * z).erf())
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """E[ln x], x uniform."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    mean_logs = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return (-p.entropy() + normalizer - mean_logs).masked_fill((p.high > 1) | (p.low < 0), math.inf)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return (-p.entropy() + _minus_log_exponential(p.mean, q)).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    result = -p.entropy() + _minus_log_gamma(p.mean, _mean_log(p.low, p.high), q)
    return result.masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    mean_exp = ((-p.low / q.scale).exp() - (-p.high / q.scale).exp()) * q.scale / (p.high - p.low)
    return -p.entropy() + _minus_log_gumbel(p.mean, mean_exp, q)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, p.variance + p.mean.pow(2), q)
