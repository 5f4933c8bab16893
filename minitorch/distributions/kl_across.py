"""KL(p‖q) of distributions of two families: −entropy(p) − E_p[ln q(x)].

It is infinite where p reaches beyond the support of q.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.distributions.bernoulli import Bernoulli
from minitorch.distributions.beta import Beta
from minitorch.distributions.binomial import Binomial
from minitorch.distributions.continuous_bernoulli import ContinuousBernoulli
from minitorch.distributions.exponential import Exponential
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.gumbel import Gumbel
from minitorch.distributions.kl import register_kl
from minitorch.distributions.laplace import Laplace
from minitorch.distributions.normal import Normal
from minitorch.distributions.pareto import Pareto
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
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
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


def _minus_log_continuous_bernoulli(mean: Tensor, q: ContinuousBernoulli) -> Tensor:
    return -mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() + _minus_log_continuous_bernoulli(p.mean, q)


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


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_bernoulli_exponential(p: ContinuousBernoulli, q: Exponential) -> Tensor:
    return -p.entropy() + _minus_log_exponential(p.mean, q)


@register_kl(ContinuousBernoulli, Normal)
def _continuous_bernoulli_normal(p: ContinuousBernoulli, q: Normal) -> Tensor:
    return -p.entropy() + _minus_log_normal(p.mean, p.variance + p.mean.square(), q)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low >= 0) | (q.high <= 1), math.inf)  # PyTorch's bounds: also of [0, 1] itself


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


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    return (-p.entropy() + _minus_log_exponential(_pareto_mean(p), q)).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    return (-p.entropy() + _minus_log_gamma(_pareto_mean(p), mean_log, q)).masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    square = p.alpha * p.scale.pow(2) / (p.alpha - 2)
    return (-p.entropy() + _minus_log_normal(_pareto_mean(p), square, q)).masked_fill(p.alpha <= 2, math.inf)


def _pareto_mean(p: Pareto) -> Tensor:
    return p.alpha * p.scale / (p.alpha - 1)


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """E[ln x], x uniform."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    mean_logs = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return (-p.entropy() + normalizer - mean_logs).masked_fill((p.high > 1) | (p.low < 0), math.inf)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    result = -p.entropy() + _minus_log_continuous_bernoulli(p.mean, q)
    return result.masked_fill((p.high >= 1) | (p.low <= 0), math.inf)  # PyTorch's bounds: also of [0, 1] itself


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


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    minus_log = (q.alpha + 1) * _mean_log(p.low, p.high) - q.alpha.log() - q.alpha * q.scale.log()
    return (-p.entropy() + minus_log).masked_fill(p.low < q.scale, math.inf)
