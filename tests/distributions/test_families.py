"""Every family asked every question, compared with torch: values, gradients, samples, representations, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.distributions.examples import NAMES, example
from tests.same import attempt, compare, same_within

PROPERTIES = (
    "batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "mean", "mode", "variance", "stddev", "probs",
    "logits", "covariance_matrix", "precision_matrix", "scale_tril", "loc", "scale", "concentration", "rate", "df",
    "total_count", "temperature",
)  # fmt: skip
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda made, name=name: getattr(made, name) for name in PROPERTIES},
    "repr": repr,
    "support": lambda made: repr(made.support),
    "event_dim of the support": lambda made: (made.support.event_dim, made.support.is_discrete),
    "constraints": lambda made: repr(made.arg_constraints),
    "entropy": lambda made: made.entropy(),
    "perplexity": lambda made: made.perplexity(),
    "enumerate_support": lambda made: made.enumerate_support(),
    "enumerate_support(False)": lambda made: made.enumerate_support(expand=False),
}


def plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, tuple) else value


def check(ask: Callable[[Any, Any], Any], name: str, dtype: str, about: str) -> None:
    """Asks about an example in both libraries, and compares the answers and their gradients."""
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    results = []
    for library in (minitorch, torch):
        library.manual_seed(0)
        made, parameters = example(name, library, dtype)
        value = attempt(ask, made, library)
        gradients = attempt(parameters.gradients, value)
        results.append([plain(value), gradients, library.get_rng_state().tolist()[:16]])
    tolerance = 1e-9 if "float64" in str(getattr(results[0][0], "dtype", "")) else 2e-5
    try:
        compare(*results, tolerance)
    except AssertionError as error:
        raise AssertionError(f"{about} of {name} in {dtype}: {error}") from None


@pytest.mark.turns(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_questions(name: str, dtype: str) -> None:
    for about, question in QUESTIONS.items():
        check(lambda made, library, question=question: question(made), name, dtype, about)


@pytest.mark.turns(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str, dtype: str) -> None:
    for shape in ((), (3,), (2, 5)):
        check(lambda made, library, shape=shape: made.sample(shape), name, dtype, f"sample({shape})")
        check(lambda made, library, shape=shape: made.rsample(shape), name, dtype, f"rsample({shape})")


@pytest.mark.turns(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_probabilities(name: str, dtype: str) -> None:
    def log_prob(made: Any, library: Any) -> Any:
        return made.log_prob(made.sample((4,)))

    def cdf(made: Any, library: Any) -> Any:
        return made.cdf(made.sample((4,)))

    def icdf(made: Any, library: Any) -> Any:
        shape = (3,) + (1,) * len(made.batch_shape)
        return made.icdf(library.tensor([0.1, 0.5, 0.9], dtype=getattr(library, dtype)).reshape(shape))

    def gradient_of_value(made: Any, library: Any) -> Any:
        value = made.sample((4,)).requires_grad_()
        return library.autograd.grad(made.log_prob(value).sum(), value)

    for question in (log_prob, cdf, icdf, gradient_of_value):
        check(question, name, dtype, question.__name__)


@pytest.mark.parametrize("name", NAMES)
def test_expand(name: str) -> None:
    def expanded(made: Any, library: Any) -> Any:
        return made.expand((3, *made.batch_shape))

    check(lambda made, library: repr(expanded(made, library)), name, "float64", "repr of the expanded")
    check(lambda made, library: plain(expanded(made, library).batch_shape), name, "float64", "batch shape")
    check(lambda made, library: plain(expanded(made, library).event_shape), name, "float64", "event shape")
    check(lambda made, library: type(expanded(made, library)).__name__, name, "float64", "type")
    check(lambda made, library: expanded(made, library).mean, name, "float64", "mean of the expanded")
    check(lambda made, library: expanded(made, library).sample((2,)), name, "float64", "sample of the expanded")
    check(lambda made, library: expanded(made, library).log_prob(made.sample()), name, "float64", "log_prob")
    check(lambda made, library: expanded(made, library)._validate_args, name, "float64", "validation")


EDGES: dict[str, Callable[[Any, Any], Any]] = {
    "Uniform": lambda d, t: d.Uniform(0.0, 1.0).log_prob(t.tensor([0.0, 0.5, 1.0])),
    "Exponential": lambda d, t: d.Exponential(2.0).log_prob(t.tensor([0.0, float("inf")])),
    "Gamma": lambda d, t: [d.Gamma(alpha, 2.0).log_prob(t.tensor(0.0)) for alpha in (0.5, 1.0, 2.0)],
    "Beta": lambda d, t: [d.Beta(0.5, 2.0).log_prob(t.tensor([0.0, 1.0])), d.Beta(1.0, 1.0).log_prob(t.tensor(0.0))],
    "Dirichlet": lambda d, t: d.Dirichlet(t.tensor([1.0, 2.0])).log_prob(t.tensor([1.0, 0.0])),
    "Bernoulli": lambda d, t: [d.Bernoulli(p).log_prob(t.tensor([0.0, 1.0])) for p in (0.0, 1.0)],
    "Geometric": lambda d, t: d.Geometric(t.tensor(1.0)).log_prob(t.tensor([0.0, 1.0])),
    "Poisson": lambda d, t: d.Poisson(0.0).log_prob(t.tensor([0.0, 1.0])),
    "Multinomial": lambda d, t: d.Multinomial(2, t.tensor([1.0, 0.0])).log_prob(t.tensor([[2.0, 0.0], [1.0, 1.0]])),
    "Categorical": lambda d, t: d.Categorical(logits=t.tensor([0.0, -float("inf")])).entropy(),
    "Laplace": lambda d, t: d.Laplace(0.0, 1.0).icdf(t.tensor([0.0, 0.5, 1.0])),
    "Normal": lambda d, t: d.Normal(0.0, 1.0).icdf(t.tensor([0.0, 0.5, 1.0])),
    "StudentT": lambda d, t: [d.StudentT(t.tensor([1.0, 2.0, 3.0])).variance, d.StudentT(1.0).mean],
}


@pytest.mark.parametrize("about", EDGES)
@same_within(1e-6)
def test_edges_of_supports(torch: Any, about: str) -> Any:
    return EDGES[about](torch.distributions, torch)
