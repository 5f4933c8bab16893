"""What distributions refuse, in torch's words, and what they let pass when told not to check."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import minitorch
from tests.same import attempt, compare

Call = Callable[[Any, Any], Any]

REFUSED: dict[str, Call] = {
    "scale below zero": lambda d, t: d.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, -1.0])),
    "nan": lambda d, t: d.Normal(float("nan"), 1.0),
    "a parameter's name": lambda d, t: d.Normal(0.0, t.nn.Parameter(t.tensor([-1.0]))),
    "not a number": lambda d, t: d.Normal("0", 1.0),
    "shapes": lambda d, t: d.Normal(t.zeros(2), t.ones(3)).sample(),
    "low above high": lambda d, t: d.Uniform(t.tensor(2.0), t.tensor(1.0)),
    "probability above one": lambda d, t: d.Bernoulli(t.tensor([0.5, 1.5])),
    "both probs and logits": lambda d, t: d.Bernoulli(t.tensor(0.5), t.tensor(0.5)),
    "neither probs nor logits": lambda d, t: d.Categorical(),
    "a number for probabilities": lambda d, t: d.Categorical(t.tensor(0.5)),
    "a number for logits": lambda d, t: d.Categorical(logits=t.tensor(0.5)),
    "negative probabilities": lambda d, t: d.Categorical(t.tensor([0.5, -0.5, 1.0])),
    "infinite logits": lambda d, t: d.Categorical(logits=t.tensor([0.5, float("nan")])),
    "one-hot without parameters": lambda d, t: d.OneHotCategorical(),
    "counts": lambda d, t: d.Multinomial(t.tensor([1, 2]), t.tensor([0.5, 0.5])),
    "a negative count": lambda d, t: d.Binomial(-1, t.tensor(0.5)),
    "a negative count of Multinomial": lambda d, t: d.Multinomial(-1, t.ones(2)),
    "a number's density under HalfCauchy": lambda d, t: d.HalfCauchy(1.0).log_prob(0.5),
    "no formula for the cdf": lambda d, t: d.Poisson(2.0).cdf(t.tensor(-1.0)),
    "a number for Dirichlet": lambda d, t: d.Dirichlet(t.tensor(0.5)),
    "zero concentration": lambda d, t: d.Dirichlet(t.tensor([0.5, 0.0])),
    "zero concentration of Beta": lambda d, t: d.Beta(0.0, 1.0),
    "zero rate": lambda d, t: d.Exponential(0.0),
    "zero probability of Geometric": lambda d, t: d.Geometric(t.tensor([0.5, 0.0])),
    "degrees of freedom": lambda d, t: d.StudentT(-1.0),
    "degrees of Chi2": lambda d, t: d.Chi2(t.tensor(-1.0)),
    "matrices": lambda d, t: d.MultivariateNormal(t.zeros(2), t.eye(2), scale_tril=t.eye(2)),
    "no matrix": lambda d, t: d.MultivariateNormal(t.zeros(2)),
    "a number for a vector": lambda d, t: d.MultivariateNormal(t.tensor(0.0), t.eye(2)),
    "a vector for a covariance": lambda d, t: d.MultivariateNormal(t.zeros(2), t.ones(2)),
    "a vector for a factor": lambda d, t: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    "not symmetric": lambda d, t: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 0.0], [0.5, 1.0]])),
    "not positive definite": lambda d, t: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "not triangular": lambda d, t: d.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2, 2)),
    "a vector for a low-rank factor": lambda d, t: d.LowRankMultivariateNormal(t.zeros(2), t.ones(2), t.ones(2)),
    "rows of a low-rank factor": lambda d, t: d.LowRankMultivariateNormal(t.zeros(2), t.ones(3, 1), t.ones(2)),
    "diagonal of another size": lambda d, t: d.LowRankMultivariateNormal(t.zeros(2), t.ones(2, 1), t.ones(3)),
    "batches of a low-rank factor": lambda d, t: d.LowRankMultivariateNormal(t.zeros(3, 2), t.ones(2, 2, 1), t.ones(2)),
    "probability of ContinuousBernoulli": lambda d, t: d.ContinuousBernoulli(t.tensor(1.5), validate_args=True),
    "KL of other sizes": lambda d, t: d.kl_divergence(
        d.LowRankMultivariateNormal(t.zeros(2), t.ones(2, 1), t.ones(2)), d.MultivariateNormal(t.zeros(3), t.eye(3))
    ),
    "KL of vectors of other sizes": lambda d, t: d.kl_divergence(
        d.MultivariateNormal(t.zeros(2), t.eye(2)), d.MultivariateNormal(t.zeros(3), t.eye(3))
    ),
    "probability one of NegativeBinomial": lambda d, t: d.NegativeBinomial(2.0, t.tensor(1.0)),
    "degrees of Wishart": lambda d, t: d.Wishart(t.tensor([0.5]), t.eye(2)),
    "no matrix of Wishart": lambda d, t: d.Wishart(3),
    "a vector for Wishart's matrix": lambda d, t: d.Wishart(3, t.ones(2)),
    "Wishart's matrix": lambda d, t: d.Wishart(3, -t.eye(2)),
    "negative definite": lambda d, t: d.Wishart(3, t.eye(2)).log_prob(-t.eye(2)),
    "correlations of one number": lambda d, t: d.LKJCholesky(1),
    "too many dimensions": lambda d, t: d.Independent(d.Normal(t.zeros(2), 1.0), 2),
    "no transform": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), abs),
    "no transforms": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [abs]),
    "too few dimensions": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), d.SoftmaxTransform()),
    "no mixture": lambda d, t: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    "no components": lambda d, t: d.MixtureSameFamily(d.Categorical(t.ones(2)), 3),
    "number of components": lambda d, t: d.MixtureSameFamily(d.Categorical(t.ones(2)), d.Normal(t.zeros(3), 1.0)),
    "batches of components": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t.ones(4, 2)), d.Normal(t.zeros(3, 2), 1.0)
    ),
    "value of another kind": lambda d, t: d.Normal(0.0, 1.0).log_prob(0.5),
    "value of another shape": lambda d, t: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "event of another shape": lambda d, t: d.Dirichlet(t.ones(3)).log_prob(t.tensor([0.5, 0.5])),
    "value outside": lambda d, t: d.Uniform(0.0, 1.0).log_prob(t.tensor([0.5, 2.0])),
    "fraction of a count": lambda d, t: d.Poisson(2.0).log_prob(t.tensor(1.5)),
    "category out of range": lambda d, t: d.Categorical(t.ones(2)).log_prob(t.tensor([0, 2])),
    "no one-hot vector": lambda d, t: d.OneHotCategorical(t.ones(2)).log_prob(t.tensor([1.0, 1.0])),
    "no simplex": lambda d, t: d.Dirichlet(t.ones(2)).log_prob(t.tensor([0.7, 0.7])),
    "cdf outside": lambda d, t: d.Exponential(1.0).cdf(t.tensor(-1.0)),
    "value outside of a transform": lambda d, t: d.LogNormal(0.0, 1.0).log_prob(t.tensor(-1.0)),
    "value outside of the base": lambda d, t: d.LogNormal(0.0, 1.0).cdf(t.tensor(-1.0)),
    "product of supports": lambda d, t: d.Independent(d.Bernoulli(t.ones(2)), 1).enumerate_support(),
    "supports of different sizes": lambda d, t: d.Binomial(t.tensor([1, 2]), t.ones(2)).enumerate_support(),
    "entropies of different counts": lambda d, t: d.Binomial(t.tensor([1, 2]), t.ones(2)).entropy(),
    "rsample of discrete numbers": lambda d, t: d.Bernoulli(0.5).rsample(),
    "mode of a mixture": lambda d, t: d.MixtureSameFamily(d.Categorical(t.ones(2)), d.Normal(t.zeros(2), 1.0)).mode,
    "expand to a smaller batch": lambda d, t: d.Normal(t.zeros(3), 1.0).expand((2,)),
    "default that is no bool": lambda d, t: d.Distribution.set_default_validate_args("yes"),
    "abstract": lambda d, t: d.Distribution().sample(),
}


@pytest.mark.parametrize("about", REFUSED)
def test_refused(about: str) -> None:
    torch = pytest.importorskip("torch", reason="the expected words are torch's")
    expected = attempt(REFUSED[about], torch.distributions, torch)
    assert isinstance(expected, tuple) and isinstance(expected[0], str), f"torch lets it pass: {expected}"
    assert attempt(REFUSED[about], minitorch.distributions, minitorch) == expected


UNCHECKED: dict[str, Call] = {
    "scale": lambda d, t: d.Normal(0.0, -1.0, validate_args=False).log_prob(t.tensor(0.5)),
    "value": lambda d, t: d.Uniform(0.0, 1.0, validate_args=False).log_prob(t.tensor([0.5, 2.0])),
    "count": lambda d, t: d.Poisson(2.0, validate_args=False).log_prob(t.tensor(1.5)),
    "expanded": lambda d, t: d.Exponential(1.0, validate_args=False).expand((2,)).log_prob(t.tensor(-1.0)),
    "half-normal": lambda d, t: d.HalfNormal(1.0, validate_args=False).log_prob(t.tensor([-1.0, 1.0])),
    "integers": lambda d, t: d.Gamma(2.0, 1.0).log_prob(t.tensor(3)),
    "another type": lambda d, t: d.HalfCauchy(1.0).log_prob(t.tensor([0.5, 2.0], dtype=t.float64)),
}


@pytest.mark.parametrize("about", UNCHECKED)
def test_unchecked(about: str) -> None:
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    compare(UNCHECKED[about](minitorch.distributions, minitorch), UNCHECKED[about](torch.distributions, torch), 1e-6)


def test_checking_can_be_turned_off_for_all() -> None:
    d = minitorch.distributions
    before = d.Distribution._validate_args
    d.Distribution.set_default_validate_args(False)
    try:
        assert d.Normal(0.0, -1.0).variance == 1.0
    finally:
        d.Distribution.set_default_validate_args(before)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        d.Normal(0.0, -1.0)


def outcomes_of_ones_own(library: Any) -> list[Any]:
    """What happens to classes of distributions that a user writes."""
    d = library.distributions

    class Bare(d.Distribution):  # type: ignore[misc]
        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value

    class Shifted(d.Normal):  # type: ignore[misc]
        def __init__(self, shift: Any) -> None:
            super().__init__(shift + 1.0, 2.0)

    class Expandable(Shifted):
        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            return super().expand(batch_shape, _instance=self._get_checked_instance(Expandable, _instance))

    class Renamed(d.Normal):  # type: ignore[misc]
        pass

    class OfExponents(d.ExponentialFamily):  # type: ignore[misc]
        arg_constraints: ClassVar[Any] = {}
        _mean_carrier_measure = 0

        @property
        def _natural_params(self) -> Any:
            return (library.tensor([-0.5, -2.0]),)

        def _log_normalizer(self, x: Any) -> Any:
            return -(-x).log()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = attempt(lambda: Bare().log_prob(library.tensor(1.0)))
        d.Normal(0.0, 1.0).sample_n(2)
    words = [(each.category.__name__, str(each.message).replace("minitorch", "torch")) for each in caught]
    return [
        value,
        words,
        attempt(lambda: Bare(validate_args=False).expand((2,))),
        attempt(lambda: Shifted(library.zeros(3)).expand((2, 3))),
        attempt(lambda: repr(Expandable(library.zeros(3)).expand((2, 3)))),
        attempt(lambda: repr(Renamed(0.0, 1.0).expand((2, 3)))),
        attempt(lambda: OfExponents(library.Size([2]), validate_args=False).entropy()),
    ]


def test_classes_of_ones_own() -> None:
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    compare(outcomes_of_ones_own(minitorch), outcomes_of_ones_own(torch), 1e-6)
