"""kl_divergence of every pair of families, compared with torch, and how a formula is chosen."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import minitorch
from tests.distributions.examples import EXAMPLES, NAMES, example
from tests.same import attempt, compare


def divergence(library: Any, name_p: str, name_q: str) -> Any:
    """KL of two examples, and its gradients."""
    p, of_p = example(name_p, library)
    q, of_q = example(name_q, library)
    value = attempt(library.distributions.kl_divergence, p, q)
    return [value, of_p.gradients(value), of_q.gradients(value)]


@pytest.mark.turns(2)
@pytest.mark.parametrize("family", EXAMPLES)
def test_every_pair(family: str) -> None:
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    name_p = f"{family}-0"
    for name_q in NAMES:
        actual, expected = divergence(minitorch, name_p, name_q), divergence(torch, name_p, name_q)
        if isinstance(expected[0], tuple) and expected[0][0] == "RuntimeError":  # batches that don't fit together
            actual[0], expected[0] = actual[0][0], expected[0][0]  # an op says so, which need not be the same one
        try:
            compare(actual, expected, 1e-6)
        except AssertionError as error:
            raise AssertionError(f"KL({name_p} ‖ {name_q}): {error}") from None


def test_most_pairs_of_one_family_have_a_formula() -> None:
    for family in EXAMPLES:
        p, _ = example(f"{family}-0", minitorch)
        if family in (
            "StudentT",
            "RelaxedOneHotCategorical",
            "RelaxedBernoulli",
            "MixtureSameFamily",
            "Multinomial",
            "NegativeBinomial",
            "FisherSnedecor",
            "VonMises",
            "LKJCholesky",
            "GeneralizedPareto",
        ):
            with pytest.raises(NotImplementedError):
                minitorch.distributions.kl_divergence(p, p)
        else:
            value = minitorch.distributions.kl_divergence(p, p)
            assert value.abs().max() < 1e-9, f"KL of {family} and itself is {value}"


CASES = {
    "edges of Bernoulli": lambda d, t: [
        d.kl_divergence(d.Bernoulli(t.tensor(p)), d.Bernoulli(t.tensor(q))) for p in (0.0, 0.5, 1.0) for q in (0.0, 1.0)
    ],
    "edges of Categorical": lambda d, t: d.kl_divergence(
        d.Categorical(t.tensor([[0.5, 0.5], [1.0, 0.0]])), d.Categorical(t.tensor([[1.0, 0.0]]))
    ),
    "supports of Uniform": lambda d, t: [
        d.kl_divergence(d.Uniform(0.0, 1.0), d.Uniform(low, 1.5)) for low in (-1.0, 0.0, 0.5)
    ],
    "Uniform beyond Beta": lambda d, t: [
        d.kl_divergence(d.Uniform(low, high), d.Beta(2.0, 3.0)) for low, high in ((0.1, 2.0), (-0.5, 0.5), (0.0, 1.0))
    ],
    "ContinuousBernoulli and Uniform": lambda d, t: [
        [d.kl_divergence(c, u), d.kl_divergence(u, c)]
        for c in [d.ContinuousBernoulli(0.3)]
        for u in [
            d.Uniform(low, high)
            for low, high in ((-1.0, 2.0), (0.2, 2.0), (0.0, 1.0), (-1.0, 0.9), (0.2, 1.0), (0.0, 0.9))
        ]
    ],
    "larger count": lambda d, t: d.kl_divergence(d.Binomial(5, t.tensor(0.5)), d.Binomial(9, t.tensor(0.5))),
    "smaller count": lambda d, t: d.kl_divergence(d.Binomial(9, t.tensor(0.5)), d.Binomial(5, t.tensor(0.5))),
    "event shapes": lambda d, t: d.kl_divergence(
        d.MultivariateNormal(t.zeros(2), t.eye(2)), d.MultivariateNormal(t.zeros(3), t.eye(3))
    ),
    "batches": lambda d, t: d.kl_divergence(
        d.MultivariateNormal(t.zeros(4, 2), t.eye(2)), d.MultivariateNormal(t.ones(2), t.eye(2) + t.ones(3, 1, 2, 2))
    ),
    "other transforms": lambda d, t: d.kl_divergence(
        d.LogNormal(0.0, 1.0), d.TransformedDistribution(d.Normal(0.0, 1.0), d.SigmoidTransform())
    ),
    "equal transforms": lambda d, t: d.kl_divergence(
        d.LogNormal(0.0, 1.0), d.TransformedDistribution(d.Normal(1.0, 2.0), [d.ExpTransform()])
    ),
    "numbers of dimensions": lambda d, t: d.kl_divergence(
        d.Independent(d.Normal(t.zeros(2, 3), 1.0), 1), d.Independent(d.Normal(t.zeros(2, 3), 1.0), 2)
    ),
    "no distribution": lambda d, t: d.register_kl("Normal", d.Normal),
}


@pytest.mark.parametrize("about", CASES)
def test_special_cases(about: str) -> None:
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    actual = attempt(CASES[about], minitorch.distributions, minitorch)
    expected = attempt(CASES[about], torch.distributions, torch)
    if about == "no distribution":  # torch lets issubclass complain
        actual, expected = actual[0], expected[0]
    compare(actual, expected, 1e-6)


def choices(library: Any) -> list[Any]:
    """Which formula is taken for subclasses, and the warning where two are equally near."""
    d = library.distributions
    registry = d.kl._KL_REGISTRY if library.__name__ == "torch" else d.kl._REGISTRY
    before = dict(registry)

    class A(d.Normal):  # type: ignore[misc]
        pass

    class B(A):
        pass

    try:
        chosen = [float(d.kl_divergence(B(0.0, 1.0), B(0.0, 1.0)))]
        d.register_kl(A, A)(lambda p, q: "A A")
        chosen.append(d.kl_divergence(B(0.0, 1.0), B(0.0, 1.0)))
        d.register_kl(B, d.Normal)(lambda p, q: "B Normal")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chosen.append(d.kl_divergence(B(0.0, 1.0), B(0.0, 1.0)))
        chosen.append([(each.category.__name__, str(each.message)) for each in caught])
        d.register_kl(B, A)(lambda p, q: "B A")
        chosen.append(d.kl_divergence(B(0.0, 1.0), B(0.0, 1.0)))
        return chosen
    finally:
        registry.clear()
        registry.update(before)


def test_the_nearest_base_classes_decide() -> None:
    torch = pytest.importorskip("torch", reason="the expected choices are torch's")
    assert choices(minitorch) == choices(torch)
