"""Infinities and NaN are results: what NumPy and `warnings` are told to say of them changes nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

LINES = """
    torch.ones(2) / 0
    torch.ones(2).div_(0)
    torch.zeros(2, dtype=torch.float16).add_(torch.full((2,), 1e5))
    torch.add(torch.full((2,), 3e38), torch.full((2,), 3e38), out=torch.empty(2))
    torch.tensor([1e5], dtype=torch.float16)
    torch.tensor(np.array([1e300]), dtype=torch.float32)
    torch.full((2,), 1e5).half()
    torch.empty(2, dtype=torch.float16).copy_(torch.full((2,), 1e5))
    torch.blackman_window(4, dtype=torch.float16)
    torch.linspace(-3e38, 3e38, 3)
    torch.logspace(0, 50, 3)
    torch.logspace(0, 50, 3, out=torch.empty(3))
    torch.fft.fftfreq(3, 1e-40)
    torch.fft.fft(torch.full((3,), 3e38)).real
    torch.fft.ifft(torch.full((3,), 1e38 + 1e38j), norm="forward").real
    torch.fft.irfft(torch.full((3,), 3e38), norm="forward")
    torch.linalg.slogdet(torch.zeros(2, 2))[1]
    drawn(torch, torch.multinomial, torch.tensor([0.0, 1e-40, 1.0]), 2)
    drawn(torch, torch.normal, torch.full((3,), 3e38), torch.full((3,), 3e38))
    drawn(torch, torch._sample_dirichlet, torch.full((3,), 1e-3))
    drawn(torch, torch.binomial, torch.full((3,), 1e30), torch.full((3,), 0.5))
    drawn(torch, torch.empty(9).log_normal_, 0, 200)
    drawn(torch, torch.empty(9).geometric_, 1e-9)
    drawn(torch, torch.empty(9, dtype=torch.float16).normal_, 0, 1e5)
    torch.nn.functional.softmax(torch.tensor([1e4, 0.0]), 0)
    backward(torch, 3e38)
    step(torch, torch.optim.SGD, lr=3e38)
    step(torch, torch.optim.Adam, lr=3e38)
"""
LINES_OF = [line.strip() for line in LINES.strip().splitlines()]


def backward(torch: Any, size: float) -> Any:
    """A gradient that two passes add up, each by itself the largest float's neighbour."""
    x = torch.ones(2, requires_grad=True)
    for _ in range(2):
        (x * size).sum().backward()
    return x.grad


def drawn(torch: Any, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Random numbers, and the next one of the generator: nothing has been drawn twice."""
    torch.manual_seed(7)
    return torch.cat([function(*args, **options).double(), torch.rand(1).double()])


def step(torch: Any, optimizer: Callable[..., Any], lr: float) -> Any:
    x = torch.full((2,), 3e38, requires_grad=True)
    x.grad = torch.full((2,), -3e38)
    optimizer([x], lr=lr).step()
    return x.detach()


def value(line: str) -> Any:
    return eval(line, {"torch": minitorch, "np": np, "backward": backward, "drawn": drawn, "step": step})


def check(line: str, quiet: Any) -> None:
    result = value(line)
    assert minitorch.equal(result.isnan(), quiet.isnan())
    assert minitorch.equal(result.nan_to_num(), quiet.nan_to_num())


@pytest.mark.parametrize("line", LINES_OF)
def test_numpy_is_told_to_raise(line: str) -> None:
    with np.errstate(all="ignore"):
        quiet = value(line)
    with np.errstate(all="raise"):
        check(line, quiet)


@pytest.mark.parametrize("line", LINES_OF)
def test_warnings_are_errors(line: str) -> None:
    with np.errstate(all="ignore"):
        quiet = value(line)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        check(line, quiet)


@pytest.mark.parametrize("line", LINES_OF)
def test_nothing_is_said(line: str) -> None:
    with warnings.catch_warnings(record=True) as said, np.errstate(all="warn"):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")  # as the dispatcher does
        value(line)
    assert not said


def test_draws_of_a_gpu() -> None:
    """A float32 number that was drawn may be too small for float16."""
    minitorch.cuda.simulate(1)
    try:
        x = minitorch.empty(300_000, dtype=minitorch.float16, device="cuda")
        with np.errstate(all="raise"):
            drawn = minitorch.randn_like(x)
        assert (drawn.abs() < 6e-5).any()  # as one in twenty thousand is
    finally:
        minitorch.cuda.simulate(0)
