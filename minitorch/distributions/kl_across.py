"""KL(p‖q) of distributions of two families: the cross-entropy −E_p[ln q(x)] less the entropy of p.

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
from minitorch.distributions.kl import Formula, Pair, register_kl
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


# −E[ln q(x)] for each family of q, from the expectations that it needs.


def _of_normal(q: Normal, mean: Tensor, mean_square: Tensor) -> Tensor:
    squared_distance = mean_square - 2 * q.loc * mean + q.loc.pow(2)
    return q.scale.log() + _HALF_LOG_TWO_PI + 0.5 * squared_distance / q.scale.pow(2)


def _of_gamma(q: Gamma, mean: Tensor, mean_log: Tensor) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer - (q.concentration - 1) * mean_log + q.rate * mean


def _of_exponential(q: Exponential, mean: Tensor) -> Tensor:
    return q.rate * mean - q.rate.log()


def _of_gumbel(q: Gumbel, mean: Tensor, mean_exp: Tensor) -> Tensor:
    """`mean_exp` is E[exp(−x/scale)]."""
    return q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_exp


def _of_laplace(q: Laplace, mean_distance: Tensor) -> Tensor:
    return (2 * q.scale).log() + mean_distance / q.scale


def _of_beta(q: Beta, mean_log: Tensor, mean_log_rest: Tensor) -> Tensor:
    """`mean_log_rest` is E[ln(1 − x)]."""
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return normalizer - (a - 1) * mean_log - (b - 1) * mean_log_rest


def _of_continuous_bernoulli(q: ContinuousBernoulli, mean: Tensor) -> Tensor:
    return -mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _of_uniform(q: Uniform) -> Tensor:
    return (q.high - q.low).log()


# Expectations.


def _distance(p: Normal, center: Tensor) -> Tensor:
    """E|x − center|."""
    z = (p.loc - center) / p.scale
    return p.scale * (math.sqrt(2 / math.pi) * (-0.5 * z.pow(2)).exp() + z * (math.sqrt(0.5) * z).erf())


def _finite_mean(p: Pareto) -> Tensor:
    """E[x] for alpha > 1."""
    return p.alpha * p.scale / (p.alpha - 1)


def _log(low: Tensor, high: Tensor) -> Tensor:
    """E[ln x], x uniform."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _exp(p: Uniform, scale: Tensor) -> Tensor:
    """E[exp(−x/scale)]."""
    return ((-p.low / scale).exp() - (-p.high / scale).exp()) * scale / (p.high - p.low)


_CROSS_ENTROPIES: dict[Pair, Formula] = {
    (Bernoulli, Poisson): lambda p, q: q.rate - p.probs * q.rate.log(),
    (Beta, ContinuousBernoulli): lambda p, q: _of_continuous_bernoulli(q, p.mean),
    (Beta, Gamma): lambda p, q: _of_gamma(
        q, p.mean, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    ),
    (Beta, Uniform): lambda p, q: _of_uniform(q),
    (ContinuousBernoulli, Uniform): lambda p, q: _of_uniform(q),
    (Exponential, Gamma): lambda p, q: _of_gamma(q, p.mean, -euler_constant - p.rate.log()),
    (Exponential, Gumbel): lambda p, q: _of_gumbel(q, p.mean, p.rate * q.scale / (p.rate * q.scale + 1)),
    (Exponential, Normal): lambda p, q: _of_normal(q, p.mean, 2 * p.rate.pow(-2)),
    (Gamma, Gumbel): lambda p, q: _of_gumbel(q, p.mean, (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)),
    (Normal, Gumbel): lambda p, q: _of_gumbel(q, p.loc, (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()),
    (Normal, Laplace): lambda p, q: _of_laplace(q, _distance(p, q.loc)),
    (Pareto, Exponential): lambda p, q: _of_exponential(q, _finite_mean(p)),
    (Pareto, Gamma): lambda p, q: _of_gamma(q, _finite_mean(p), p.scale.log() + p.alpha.reciprocal()),
    (Pareto, Normal): lambda p, q: _of_normal(q, _finite_mean(p), p.alpha * p.scale.pow(2) / (p.alpha - 2)),
    (Uniform, Beta): lambda p, q: _of_beta(q, _log(p.low, p.high), _log(1 - p.high, 1 - p.low)),
    (Uniform, ContinuousBernoulli): lambda p, q: _of_continuous_bernoulli(q, p.mean),
    (Uniform, Gamma): lambda p, q: _of_gamma(q, p.mean, _log(p.low, p.high)),
    (Uniform, Gumbel): lambda p, q: _of_gumbel(q, p.mean, _exp(p, q.scale)),
    (Uniform, Pareto): lambda p, q: (q.alpha + 1) * _log(p.low, p.high) - q.alpha.log() - q.alpha * q.scale.log(),
}
for _p in (Beta, ContinuousBernoulli, Gamma, Gumbel, Laplace, Uniform):
    _CROSS_ENTROPIES[_p, Normal] = lambda p, q: _of_normal(q, p.mean, p.variance + p.mean.pow(2))
for _p in (Beta, ContinuousBernoulli, Gamma, Uniform):
    _CROSS_ENTROPIES[_p, Exponential] = lambda p, q: _of_exponential(q, p.mean)

_INFINITE: dict[Pair, Formula] = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),  # PyTorch's: also of [0, 1] itself
    (Pareto, Exponential): lambda p, q: p.alpha <= 1,
    (Pareto, Gamma): lambda p, q: p.alpha <= 1,
    (Pareto, Normal): lambda p, q: p.alpha <= 2,
    (Uniform, Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.high >= 1) | (p.low <= 0),  # likewise
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
}
"""Where p reaches beyond the support of q, or the expectations are infinite."""


def _divergence(cross_entropy: Formula, infinite: Formula | None) -> Formula:
    def divergence(p: Any, q: Any) -> Tensor:
        result = -p.entropy() + cross_entropy(p, q)
        return result if infinite is None else result.masked_fill(infinite(p, q), math.inf)

    return divergence


for _pair, _formula in _CROSS_ENTROPIES.items():
    register_kl(*_pair)(_divergence(_formula, _INFINITE.get(_pair)))
