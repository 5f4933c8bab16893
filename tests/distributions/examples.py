"""Distributions of every family, made by the same call for torch and for minitorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Parameters:
    """Makes leaf tensors for one library in one dtype, and keeps them, so that their gradients can be compared."""

    def __init__(self, library: Any, dtype: str) -> None:
        self.library = library
        self.dtype = getattr(library, dtype)
        self.made: list[Any] = []

    def __call__(self, values: Any, dtype: str | None = None) -> Any:
        kind = self.dtype if dtype is None else getattr(self.library, dtype)
        tensor = self.library.tensor(values, dtype=kind, requires_grad=True)
        self.made.append(tensor)
        return tensor

    def gradients(self, value: Any) -> list[Any]:
        """The gradients of the sum of a tensor's finite elements."""
        if not self.made or not getattr(value, "requires_grad", False):
            return []
        value = value.masked_select(value.isfinite())
        gradient = self.library.autograd.grad
        return list(gradient(value.sum(), self.made, retain_graph=True, materialize_grads=True))


Example = Callable[[Any, Parameters], Any]
MATRIX = [[2.0, 0.0], [0.6, 0.7]]
COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]

EXAMPLES: dict[str, list[Example]] = {
    "Normal": [
        lambda d, p: d.Normal(p([0.3, -1.0]), p([0.5, 2.0])),
        lambda d, p: d.Normal(p([[0.3], [-1.0]]), p([0.5, 2.0, 1.0])),
        lambda d, p: d.Normal(0.0, 1.0),
        lambda d, p: d.Normal(1, p(2.0)),
    ],
    "Uniform": [
        lambda d, p: d.Uniform(p([0.2, -1.0]), p([0.9, 3.0])),
        lambda d, p: d.Uniform(-1, 1),
    ],
    "Bernoulli": [
        lambda d, p: d.Bernoulli(p([0.2, 0.5, 0.9])),
        lambda d, p: d.Bernoulli(logits=p([[-1.0, 0.0], [2.0, 5.0]])),
        lambda d, p: d.Bernoulli(0.3),
        lambda d, p: d.Bernoulli(p([0.0, 1.0])),
    ],
    "Categorical": [
        lambda d, p: d.Categorical(p([0.2, 0.5, 0.9])),
        lambda d, p: d.Categorical(logits=p([[-1.0, 0.0, 2.0], [2.0, 5.0, 1.0]])),
        lambda d, p: d.Categorical(p([[0.2, 0.8], [0.0, 1.0], [0.5, 0.5]])),
    ],
    "OneHotCategorical": [
        lambda d, p: d.OneHotCategorical(p([0.2, 0.5, 0.9])),
        lambda d, p: d.OneHotCategorical(logits=p([[-1.0, 0.0, 2.0], [2.0, 5.0, 1.0]])),
    ],
    "OneHotCategoricalStraightThrough": [
        lambda d, p: d.OneHotCategoricalStraightThrough(p([[0.2, 0.5, 0.9], [0.1, 0.8, 0.1]])),
    ],
    "Beta": [
        lambda d, p: d.Beta(p([0.5, 2.0, 9.0]), p([0.7, 3.0, 8.0])),
        lambda d, p: d.Beta(2.0, 3.0),
        lambda d, p: d.Beta(p([0.3, 0.4]), 0.5),
    ],
    "Gamma": [
        lambda d, p: d.Gamma(p([0.3, 2.0, 20.0]), p([0.7, 3.0, 1.0])),
        lambda d, p: d.Gamma(2.0, 3.0),
    ],
    "Chi2": [lambda d, p: d.Chi2(p([1.0, 5.0]))],
    "Exponential": [lambda d, p: d.Exponential(p([0.5, 2.0])), lambda d, p: d.Exponential(1.5)],
    "Multinomial": [
        lambda d, p: d.Multinomial(7, p([0.2, 0.5, 0.3])),
        lambda d, p: d.Multinomial(3, logits=p([[-1.0, 0.0, 2.0], [2.0, 5.0, 1.0]])),
    ],
    "Dirichlet": [
        lambda d, p: d.Dirichlet(p([0.5, 2.0, 9.0])),
        lambda d, p: d.Dirichlet(p([[0.5, 0.9], [3.0, 4.0]])),
    ],
    "Laplace": [lambda d, p: d.Laplace(p([0.3, -1.0]), p([0.5, 2.0])), lambda d, p: d.Laplace(0.0, 1.0)],
    "LogNormal": [lambda d, p: d.LogNormal(p([0.3, -1.0]), p([0.5, 1.0])), lambda d, p: d.LogNormal(0.0, 1.0)],
    "HalfNormal": [lambda d, p: d.HalfNormal(p([0.3, 1.0])), lambda d, p: d.HalfNormal(2.0)],
    "Cauchy": [lambda d, p: d.Cauchy(p([0.3, -1.0]), p([0.5, 2.0])), lambda d, p: d.Cauchy(0.0, 1.0)],
    "Gumbel": [lambda d, p: d.Gumbel(p([0.3, -1.0]), p([0.5, 2.0])), lambda d, p: d.Gumbel(0.0, 1.0)],
    "Poisson": [lambda d, p: d.Poisson(p([0.5, 3.0, 25.0])), lambda d, p: d.Poisson(4.0)],
    "Binomial": [
        lambda d, p: d.Binomial(10, p([0.2, 0.4, 0.9])),
        lambda d, p: d.Binomial(10, logits=p([-1.0, 0.0, 3.0])),
        lambda d, p: d.Binomial(p.library.tensor([5, 9]), p([[0.2], [0.7]])),
    ],
    "Geometric": [lambda d, p: d.Geometric(p([0.2, 0.5, 0.9])), lambda d, p: d.Geometric(logits=p([-1.0, 2.0]))],
    "StudentT": [lambda d, p: d.StudentT(p([0.8, 1.5, 4.0]), p([0.3, -1.0, 0.0]), p([0.5, 2.0, 1.0]))],
    "MultivariateNormal": [
        lambda d, p: d.MultivariateNormal(p([0.3, -1.0]), scale_tril=p(MATRIX)),
        lambda d, p: d.MultivariateNormal(p([[0.3, -1.0], [1.0, 2.0], [0.0, 0.0]]), p(COVARIANCE)),
        lambda d, p: d.MultivariateNormal(p([0.3, -1.0]), precision_matrix=p([COVARIANCE, MATRIX_SQUARE])),
    ],
    "RelaxedOneHotCategorical": [
        lambda d, p: d.RelaxedOneHotCategorical(p(0.7), p([0.2, 0.5, 0.3])),
        lambda d, p: d.RelaxedOneHotCategorical(p(2.0), logits=p([[-1.0, 0.0, 2.0], [2.0, 5.0, 1.0]])),
    ],
    "RelaxedBernoulli": [
        lambda d, p: d.RelaxedBernoulli(p(0.7), p([0.2, 0.5, 0.9])),
        lambda d, p: d.RelaxedBernoulli(p(2.0), logits=p([-1.0, 2.0])),
    ],
    "HalfCauchy": [lambda d, p: d.HalfCauchy(p([0.3, 1.0])), lambda d, p: d.HalfCauchy(2.0)],
    "Pareto": [lambda d, p: d.Pareto(p([0.3, 1.0]), p([1.5, 3.0])), lambda d, p: d.Pareto(0.1, p([0.5, 2.5]))],
    "Weibull": [lambda d, p: d.Weibull(p([0.3, 1.0]), p([1.5, 3.0])), lambda d, p: d.Weibull(1.0, 2.0)],
    "InverseGamma": [lambda d, p: d.InverseGamma(p([0.9, 1.5, 3.0]), p([1.5, 3.0, 0.5]))],
    "LogisticNormal": [
        lambda d, p: d.LogisticNormal(p([[0.3, -1.0], [0.0, 0.0]]), p([0.5, 2.0])),
        lambda d, p: d.LogisticNormal(p(0.3), 1.0),
    ],
    "NegativeBinomial": [
        lambda d, p: d.NegativeBinomial(p([3.0, 5.5]), p([0.2, 0.7])),
        lambda d, p: d.NegativeBinomial(4, logits=p([-1.0, 0.5])),
    ],
    "Kumaraswamy": [lambda d, p: d.Kumaraswamy(p([0.5, 2.0, 1.5]), p([0.7, 3.0, 1.0]))],
    "FisherSnedecor": [lambda d, p: d.FisherSnedecor(p([1.5, 3.0, 6.0]), p([1.0, 3.0, 9.0]))],
    "ContinuousBernoulli": [
        lambda d, p: d.ContinuousBernoulli(p([0.2, 0.5, 0.9])),
        lambda d, p: d.ContinuousBernoulli(logits=p([-1.0, 0.001, 2.0])),
        lambda d, p: d.ContinuousBernoulli(p([0.0, 0.45, 1.0]), lims=(0.4, 0.6)),
    ],
    "VonMises": [lambda d, p: d.VonMises(p([0.3, -1.0, 3.0]), p([0.5, 3.3, 20.0])), lambda d, p: d.VonMises(0.0, 1.0)],
    "LowRankMultivariateNormal": [
        lambda d, p: d.LowRankMultivariateNormal(p([0.3, -1.0]), p([[1.0], [0.5]]), p([0.5, 2.0])),
        lambda d, p: d.LowRankMultivariateNormal(
            p([[0.3, -1.0], [0.0, 0.0]]), p([[1.0, 0.3], [0.5, 2.0]]), p([0.5, 2.0])
        ),
    ],
    "Wishart": [
        lambda d, p: d.Wishart(p([2.5, 4.0, 7.0]), p(COVARIANCE)),
        lambda d, p: d.Wishart(p(4.5), scale_tril=p([MATRIX, COVARIANCE_FACTOR])),
        lambda d, p: d.Wishart(3, precision_matrix=p(COVARIANCE)),
    ],
    "LKJCholesky": [lambda d, p: d.LKJCholesky(3, p([0.5, 2.0])), lambda d, p: d.LKJCholesky(2)],
    "GeneralizedPareto": [  # torch can't do log_prob in float64
        lambda d, p: d.GeneralizedPareto(
            p([0.3, -1.0, 0.0], "float32"), p([0.5, 2.0, 1.0], "float32"), p([0.3, -0.5, 0.0], "float32")
        ),
        lambda d, p: d.GeneralizedPareto(0.0, 1.0, p([0.7, 1.5], "float32")),
    ],
    "Independent": [
        lambda d, p: d.Independent(d.Normal(p([[0.3, -1.0], [0.0, 1.0]]), p([0.5, 2.0])), 1),
        lambda d, p: d.Independent(d.Bernoulli(p([[0.3, 0.9]])), 2),
        lambda d, p: d.Independent(d.Bernoulli(p([0.3, 0.9])), 0),
    ],
    "TransformedDistribution": [
        lambda d, p: d.TransformedDistribution(d.Normal(p([0.3, -1.0]), p([0.5, 2.0])), d.TanhTransform(cache_size=1)),
        lambda d, p: d.TransformedDistribution(
            d.Uniform(p([0.1, 0.2]), p(0.9)), [d.SigmoidTransform().inv, d.AffineTransform(p(1.0), p([-2.0, 3.0]))]
        ),
        lambda d, p: d.TransformedDistribution(d.Normal(p([0.3, -1.0]), 1.0), d.StickBreakingTransform()),
        lambda d, p: d.TransformedDistribution(
            d.Normal(p([0.3]), 1.0), d.AffineTransform(p([[1.0, 2.0], [3.0, 4.0]]), 0.5, event_dim=1)
        ),
        lambda d, p: d.TransformedDistribution(d.Exponential(p([0.3, 1.0])), []),
        lambda d, p: d.TransformedDistribution(
            d.Normal(p([[0.3, -1.0, 0.5]] * 2), 0.5),
            [d.AffineTransform(0.0, p([2.0, 1.0, 0.5])), d.CorrCholeskyTransform()],
        ),
    ],
    "MixtureSameFamily": [
        lambda d, p: d.MixtureSameFamily(d.Categorical(p([0.2, 0.8])), d.Normal(p([0.3, -1.0]), p([0.5, 2.0]))),
        lambda d, p: d.MixtureSameFamily(
            d.Categorical(p([[0.2, 0.8], [0.5, 0.5]])),
            d.Independent(d.Normal(p([[[0.3, -1.0], [0.0, 2.0]]] * 2), p([0.5, 2.0])), 1),
        ),
        lambda d, p: d.MixtureSameFamily(
            d.Categorical(p([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])), d.Normal(p([[[0.3, -1.0]] * 3] * 2), p([0.5, 2.0]))
        ),
    ],
}
COVARIANCE_FACTOR = [[1.4, 0.0], [0.3, 0.9]]
MATRIX_SQUARE = [[4.0, 1.2], [1.2, 0.85]]

NAMES = [f"{name}-{number}" for name, examples in EXAMPLES.items() for number in range(len(examples))]


def example(name: str, library: Any, dtype: str = "float64") -> tuple[Any, Parameters]:
    """One of NAMES for a library, and its parameters."""
    family, _, number = name.partition("-")
    parameters = Parameters(library, dtype)
    return EXAMPLES[family][int(number)](library.distributions, parameters), parameters
