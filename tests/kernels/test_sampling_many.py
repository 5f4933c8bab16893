"""Many Poisson, gamma and binomial numbers: all of them, and the generator afterwards, are compared with torch's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from minitorch.kernels import sampling
from minitorch.kernels.sampling import ahead
from minitorch.random import WORDS, Generator, memory_of

torch = pytest.importorskip("torch", reason="torch, which the numbers are compared with, is not installed")

MANY = 100_000
INF, NAN = float("inf"), float("nan")
poisson = import_module("minitorch.kernels.sampling.poisson")  # the function of this name hides it


def spread(low: float, high: float) -> Any:
    """`MANY` numbers from low to high in a random order."""
    return low + (high - low) * np.random.default_rng(1).random(MANY)


def either(*values: float, size: int = MANY) -> Any:
    return np.random.default_rng(2).choice(np.array(values, np.float64), size)


def assert_like_torch(ours: Callable[..., Any], theirs: Callable[..., Any], *parameters: Any) -> None:
    """The same numbers, and afterwards the same state; also where half a pair of normals is waiting at the start."""
    for normals in (2, 3):
        generator, reference = Generator().manual_seed(5), torch.Generator().manual_seed(5)
        sampling.normal_(np.empty(normals), generator)
        torch.randn(normals, generator=reference)
        numbers = ours(*parameters, generator)
        expected = theirs(*map(torch.from_numpy, parameters), generator=reference).numpy()
        np.testing.assert_array_equal(numbers, expected, strict=True)
        np.testing.assert_array_equal(generator.get_state_array(), reference.get_state().numpy())


POISSON = {
    "small": spread(0, 10),
    "large": spread(10, 1000),
    "both": spread(0.1, 20),
    "some zero": spread(0, 15) * either(0, 1),
    "all zero": np.zeros(MANY),
    "all 0.5": np.full(MANY, 0.5),
    "all 9.9": np.full(MANY, 9.9),
    "all 1e6": np.full(MANY, 1e6),
    "far apart": either(1e-300, 1e-3, 9.99, 10.0, 1e9),
    "more than int64 holds": either(3.0, INF, size=200),
}


@pytest.mark.parametrize("rates", POISSON)
def test_poisson(rates: str) -> None:
    assert_like_torch(sampling.poisson, torch.poisson, POISSON[rates])


def test_poisson_of_other_dtypes_and_strides() -> None:
    rate = spread(0, 30).astype(np.float32).reshape(-1, 100)
    assert_like_torch(sampling.poisson, torch.poisson, rate)
    assert_like_torch(sampling.poisson, torch.poisson, rate.astype(np.float16))
    assert_like_torch(sampling.poisson, torch.poisson, rate.T)
    assert_like_torch(sampling.poisson, torch.poisson, rate[::3, 5:50:7])


GAMMA = {
    "below 1": spread(0, 1),
    "above 1": spread(1, 10),
    "both": spread(0, 3),
    "all 0.5": np.full(MANY, 0.5),
    "all 1": np.ones(MANY),
    "all 100": np.full(MANY, 100.0),
    "Beta": np.tile([0.5, 2.0], MANY // 2),
    "tiny and huge": either(1e-30, 1e-3, 1e6, 1e30),
    "none at all": either(0.0, -0.5, -3.0, NAN, INF, 0.7, 2.0, size=5000),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alphas", GAMMA)
def test_gamma(alphas: str, dtype: str) -> None:
    assert_like_torch(sampling.standard_gamma, torch._standard_gamma, GAMMA[alphas].astype(dtype))


def test_gamma_of_other_strides() -> None:
    alpha = spread(0, 5).reshape(-1, 100)
    assert_like_torch(sampling.standard_gamma, torch._standard_gamma, alpha.T)
    assert_like_torch(sampling.standard_gamma, torch._standard_gamma, alpha[::3, 5:50:7])


def test_dirichlet() -> None:
    assert_like_torch(sampling.dirichlet, torch._sample_dirichlet, spread(0, 5).astype(np.float32).reshape(-1, 10))


BINOMIAL = {
    "small": (either(*range(1, 20)), spread(0, 1)),
    "large": (either(*range(100, 10000)), spread(0.2, 0.8)),
    "both": (either(*range(1, 100)), spread(0, 1)),
    "no whole number": (spread(0, 60), spread(0, 1)),
    "no probability": (either(0, 5, 50), either(0.3, 0.9, NAN, -1, 2, 5, 0, 1)),
    "all 10, 0.3": (np.full(MANY, 10.0), np.full(MANY, 0.3)),
    "all 50, 0.3": (np.full(MANY, 50.0), np.full(MANY, 0.3)),
    "all 40, 0.9": (np.full(MANY, 40.0), np.full(MANY, 0.9)),
    "all 1e5, 0.5": (np.full(MANY, 1e5), np.full(MANY, 0.5)),
    "not all whole in float32": (spread(1e7, 1e9)[:5000], spread(0, 1)[:5000]),
    "none at all": (either(0, -1, 5, 1e30, INF, 7.5, size=5000), either(0, 1, 0.3, 0.9, NAN, 1e-45, -1, 2, size=5000)),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("parameters", BINOMIAL)
def test_binomial(parameters: str, dtype: str) -> None:
    count, prob = (each.astype(dtype) for each in BINOMIAL[parameters])
    assert_like_torch(sampling.binomial, torch.binomial, count, prob)


def test_binomial_of_other_strides() -> None:
    count, prob = either(*range(1, 100)).reshape(-1, 100), spread(0, 1).reshape(-1, 100)
    assert_like_torch(sampling.binomial, torch.binomial, count.T, prob.T)
    assert_like_torch(sampling.binomial, torch.binomial, count[::3, 5:50:7], prob[::3, 50:95:7])


def test_binomial_of_nan_trials_is_nan() -> None:
    """PyTorch looks for the number for ever, unless the probability decides."""
    drawn = sampling.binomial(np.full(4, NAN), np.array([0.0, 0.3, 0.7, 1.0]), Generator())
    np.testing.assert_array_equal(drawn, [0, NAN, NAN, NAN])


@pytest.mark.parametrize("size", [1, 15, 16, 17, ahead.BLOCK - 1, ahead.BLOCK, ahead.BLOCK + 1])
def test_around_a_block(size: int) -> None:
    assert_like_torch(sampling.poisson, torch.poisson, spread(0, 20)[:size])
    assert_like_torch(sampling.standard_gamma, torch._standard_gamma, spread(0, 2)[:size])
    assert_like_torch(sampling.binomial, torch.binomial, either(9, 99)[:size], spread(0, 1)[:size])


@pytest.mark.parametrize("rate", [0.01, 1, 5])
def test_uniform_numbers_that_suffice_for_few_elements(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that ends amid an element goes on with that element, also one that doesn't suffice for the first."""
    monkeypatch.setattr(ahead, "SPARE", 1)
    monkeypatch.setattr(ahead, "RATE", rate)
    assert_like_torch(sampling.poisson, torch.poisson, spread(0, 20)[:100])
    assert_like_torch(sampling.standard_gamma, torch._standard_gamma, spread(0, 2)[:100])
    assert_like_torch(sampling.binomial, torch.binomial, either(9, 99)[:100], spread(0, 1)[:100])


def test_elements_that_need_more_than_a_state_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poisson, "ROOM", 330)
    assert_like_torch(sampling.poisson, torch.poisson, POISSON["both"][:5000])


def test_a_twister_says_what_it_is_made_to_say() -> None:
    words = np.random.default_rng(3).integers(0, 2**32, WORDS, dtype=np.uint32)
    twister = np.random.MT19937()
    memory = memory_of(twister)
    memory[:WORDS], memory[WORDS] = poisson._untempered(words), 0
    np.testing.assert_array_equal(twister.random_raw(WORDS), words)


@pytest.mark.parametrize(("shape", "samples"), [((1000, 5), 2), ((5,), 1000), ((3, 2000), 10), ((3, 40), 500)])
def test_multinomial_with_replacement(shape: tuple[int, ...], samples: int) -> None:
    weights = np.random.default_rng(4).integers(0, 9, shape).astype(np.float64) + (np.arange(shape[-1]) == 3)
    generator, reference = Generator().manual_seed(6), torch.Generator().manual_seed(6)
    drawn = sampling.multinomial(weights, samples, True, generator)
    expected = torch.multinomial(torch.from_numpy(weights), samples, True, generator=reference).numpy()
    np.testing.assert_array_equal(drawn, expected, strict=True)
    np.testing.assert_array_equal(generator.get_state_array(), reference.get_state().numpy())
