"""Random numbers on a real GPU: a seed gives what PyTorch gives there, and leaves the generator where it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="compares with torch")

pytestmark = pytest.mark.needs("gpu")

COUNTS = (5, 1000, 3_000_000)

SAMPLERS: dict[str, Callable[[Any, int], Any]] = {
    "rand": lambda lib, n: lib.rand(n, device="cuda"),
    "rand, float64": lambda lib, n: lib.rand(n, device="cuda", dtype=lib.float64),
    "uniform_": lambda lib, n: lib.empty(n, device="cuda").uniform_(-0.1, 0.1),
    "randn": lambda lib, n: lib.randn(n, device="cuda"),
    "randn, float64": lambda lib, n: lib.randn(n, device="cuda", dtype=lib.float64),
    "randn, complex64": lambda lib, n: lib.randn(n, device="cuda", dtype=lib.complex64),
    "log_normal_": lambda lib, n: lib.empty(n, device="cuda").log_normal_(0, 0.5),
    "exponential_": lambda lib, n: lib.empty(n, device="cuda").exponential_(),
    "cauchy_": lambda lib, n: lib.empty(n, device="cuda").cauchy_().atan(),
    "geometric_": lambda lib, n: lib.empty(n, device="cuda").geometric_(0.3),
    "bernoulli_": lambda lib, n: lib.empty(n, device="cuda").bernoulli_(0.3),
    "bernoulli": lambda lib, n: lib.bernoulli(lib.linspace(0, 1, n, device="cuda")),
    "randint": lambda lib, n: lib.randint(1000, (n,), device="cuda"),
    "randint, 40 bits": lambda lib, n: lib.randint(2**40, (n,), device="cuda"),
    "random_": lambda lib, n: lib.empty(n, device="cuda", dtype=lib.int32).random_(),
    "randperm": lambda lib, n: lib.randperm(n, device="cuda"),
    "dropout": lambda lib, n: lib.nn.functional.dropout(lib.ones(n, device="cuda"), 0.3),
    "dropout, float64": lambda lib, n: lib.nn.functional.dropout(lib.ones(n, device="cuda", dtype=lib.float64), 0.3),
    "dropout2d": lambda lib, n: lib.nn.functional.dropout2d(lib.ones(1, n, 1, 1, device="cuda"), 0.3),
    "rrelu": lambda lib, n: lib.nn.functional.rrelu(-lib.ones(n, device="cuda"), training=True),
    "multinomial": lambda lib, n: lib.multinomial(lib.linspace(1, 2, n, device="cuda"), 3),
    "multinomial with replacement": lambda lib, n: lib.multinomial(lib.tensor([1.0, 3, 2], device="cuda"), n, True),
    "poisson": lambda lib, n: lib.poisson(lib.linspace(0, 60, n, device="cuda")),
    "poisson, large": lambda lib, n: lib.poisson(lib.linspace(4001, 9000, n, device="cuda")),
    "gamma": lambda lib, n: lib._standard_gamma(lib.linspace(0.1, 5, n, device="cuda")),
    "binomial": lambda lib, n: lib.binomial(lib.full((n,), 30.0, device="cuda"), lib.linspace(0, 1, n, device="cuda")),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("count", COUNTS)
def test_the_numbers_are_pytorchs(name: str, count: int) -> None:
    if not torch.cuda.is_available():
        pytest.skip("PyTorch's build doesn't know this GPU")
    made = []
    for lib in (minitorch, torch):
        lib.manual_seed(7)
        lib.rand(3, device="cuda")
        drawn = SAMPLERS[name](lib, count)
        made.append((drawn.cpu().numpy(), lib.cuda.get_rng_state().numpy()))
    (own, own_state), (other, other_state) = made
    exact = own.dtype.kind in "bi"
    np.testing.assert_allclose(own, other, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)
    assert own_state.tolist() == other_state.tolist()
