"""KL(p‖q) of two distributions of one family.

Formulas: Gil, Alajaji and Linder 2013, "Rényi divergence measures for commonly used univariate continuous
distributions", doi:10.1016/j.ins.2013.06.018; Cauchy: Chyzak and Nielsen 2019, https://arxiv.org/abs/1905.10965.
"""

from __future__ import annotations

import math

from minitorch.distributions.bernoulli import Bernoulli
from minitorch.distributions.beta import Beta
from minitorch.distributions.binomial import Binomial
from minitorch.distributions.categorical import Categorical
from minitorch.distributions.cauchy import Cauchy
from minitorch.distributions.continuous_bernoulli import ContinuousBernoulli
from minitorch.distributions.dirichlet import Dirichlet
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.exponential import Exponential
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.geometric import Geometric
from minitorch.distributions.gumbel import Gumbel
from minitorch.distributions.half_normal import HalfNormal
from minitorch.distributions.independent import Independent
from minitorch.distributions.kl import Formula, Pair, kl_divergence, register_kl
from minitorch.distributions.laplace import Laplace
from minitorch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from minitorch.distributions.multivariate_normal import MultivariateNormal, _squared_distance
from minitorch.distributions.normal import Normal
from minitorch.distributions.one_hot_categorical import OneHotCategorical
from minitorch.distributions.pareto import Pareto
from minitorch.distributions.poisson import Poisson
from minitorch.distributions.scale_tril import half_log_det
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.uniform import Uniform
from minitorch.distributions.utils import _sum_rightmost, euler_constant
from minitorch.nn.functional import softplus
from minitorch.ops.linalg.solve import solve_triangular
from minitorch.tensor import Tensor


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    of_one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    of_one = of_one.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    of_zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    of_zero = of_zero.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)
    return of_one + of_zero


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    of_normalizers = (q1.lgamma() + q0.lgamma() + (p1 + p0).lgamma()) - (p1.lgamma() + p0.lgamma() + (q1 + q0).lgamma())
    of_sums = (q1 + q0 - (p1 + p0)) * (p1 + p0).digamma()
    return of_normalizers + (p1 - q1) * p1.digamma() + (p0 - q0) * p0.digamma() + of_sums


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    of_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    return p.mean * (p.logits - q.logits) + of_p - q._cont_bern_log_norm() - (-q.probs).log1p()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    of_normalizers = sum_p.lgamma() - sum_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    mean_log = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return of_normalizers + ((p.concentration - q.concentration) * mean_log).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """F(θ_q) − F(θ_p) − ⟨θ_q − θ_p, ∇F(θ_p)⟩, the Bregman divergence of the log-normalizer F."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "                            be computed using Bregman divergences"
        )
    normalizer, terms = p._bregman()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for (of_p, gradient), of_q in zip(terms, q._natural_params, strict=True):
        result = result - _sum_rightmost((of_q - of_p) * gradient, len(q.event_shape))
    return result


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    of_q, of_p = q.loc / q.scale, p.loc / q.scale
    expected = (of_q + (1 + ratio).lgamma() - of_p).exp()
    return -ratio.log() - of_q + of_p + ratio * euler_constant + expected - (1 + euler_constant)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


Gaussian = MultivariateNormal | LowRankMultivariateNormal


def _check_sizes(p: Gaussian, q: Gaussian, kind: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {kind} with                          different event shapes cannot be computed"
        )


def _from_tril(of_p: list[Tensor], log_det_p: Tensor, p: Gaussian, q: MultivariateNormal) -> Tensor:
    """For a p with the covariance Σ F Fᵀ over some factors F, and its ½ ln det."""
    of_q = q._unbroadcasted_scale_tril
    trace = sum(solve_triangular(of_q, each, upper=False).pow(2).sum([-2, -1]) for each in of_p)
    distance = _squared_distance(of_q, q.loc - p.loc)
    return half_log_det(of_q) - log_det_p + 0.5 * (trace + distance - p.event_shape[0])


def _factors(p: LowRankMultivariateNormal) -> list[Tensor]:
    return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q, "Multivariate Normals")
    of_p = p._unbroadcasted_scale_tril
    return _from_tril([of_p], half_log_det(of_p), p, q)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_multivariate_normal(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q, "(Low Rank) Multivariate Normals")
    return _from_tril(_factors(p), 0.5 * p._log_det(), p, q)


def _to_low_rank(of_p: list[Tensor], log_det_p: Tensor, p: Gaussian, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q, "(Low Rank) Multivariate Normals")
    diagonal = q._unbroadcasted_cov_diag
    inner = solve_triangular(q._capacitance_tril, q._scaled_factor(), upper=False)
    trace = sum(
        ((each.pow(2).sum(-1) / diagonal).sum(-1) - (inner @ each).pow(2).sum([-2, -1]) for each in of_p),
        start=diagonal.new_zeros(()),
    )
    distance = q._squared_distance(q.loc - p.loc)
    return 0.5 * (q._log_det() - log_det_p + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal_to_low_rank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    of_p = p._unbroadcasted_scale_tril
    return _to_low_rank([of_p], 2 * half_log_det(of_p), p, q)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    ratio = (q.high - q.low) / (p.high - p.low)
    return ratio.log().masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The same transforms leave the divergence as it is."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


_FORMULAS: dict[Pair, Formula] = {
    (OneHotCategorical, OneHotCategorical): lambda p, q: _categorical(p._categorical, q._categorical),
    (Cauchy, Cauchy): lambda p, q: (
        ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
    ),
    (Gamma, Gamma): lambda p, q: (
        q.concentration * (p.rate / q.rate).log()
        + (q.concentration.lgamma() - p.concentration.lgamma())
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    ),
    (Geometric, Geometric): lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    (LowRankMultivariateNormal, LowRankMultivariateNormal): lambda p, q: _to_low_rank(_factors(p), p._log_det(), p, q),
    (HalfNormal, HalfNormal): lambda p, q: _normal(p.base_dist, q.base_dist),
    (Poisson, Poisson): lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
}
for _pair, _formula in _FORMULAS.items():
    register_kl(*_pair)(_formula)
