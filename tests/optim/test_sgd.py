"""SGD's step against numbers that a hand can compute; no torch needed."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch


def after(steps: int, *, weight: float = 1.0, grad: float = 1.0, **options: Any) -> float:
    """The weight after some steps under a constant gradient."""
    parameter = torch.tensor([weight], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], **options)
    for _ in range(steps):
        parameter.grad = torch.full_like(parameter, grad)
        optimizer.step()
    return float(parameter.item())


def test_plain_step_is_the_learning_rate_times_the_gradient() -> None:
    assert after(3, grad=2.0, lr=0.25) == pytest.approx(1 - 3 * 0.25 * 2)


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_momentum_sums_a_geometric_series(steps: int) -> None:
    moved = sum(0.1 * (1 - 0.9**k) / (1 - 0.9) for k in range(1, steps + 1))
    assert after(steps, lr=0.1, momentum=0.9) == pytest.approx(1 - moved)


def test_momentum_starts_again_for_each_parameter() -> None:
    early = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    late = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([early, late], lr=1.0, momentum=0.5)
    early.grad = torch.ones_like(early)
    optimizer.step()
    late.grad = torch.ones_like(late)
    optimizer.step()
    assert (early.item(), late.item()) == (-1 - 1.5, -1)


def test_dampening_spares_the_first_gradient() -> None:
    assert after(1, lr=1.0, momentum=0.5, dampening=0.75) == 1 - 1
    assert after(2, lr=1.0, momentum=0.5, dampening=0.75) == 1 - 1 - (0.5 + 0.25)


def test_weight_decay_alone_shrinks_by_a_constant_factor() -> None:
    assert after(3, weight=2.0, grad=0.0, lr=0.5, weight_decay=0.5) == pytest.approx(2 * 0.75**3)


def test_weight_decay_enters_the_momentum_buffer() -> None:
    # b = 2, w = 1; then b = 0.5 · 2 + 1, w = 1 - 0.5 · 2
    assert after(2, weight=2.0, grad=0.0, lr=0.5, weight_decay=1.0, momentum=0.5) == 0.0


def test_nesterov_looks_one_step_ahead() -> None:
    assert after(1, lr=1.0, momentum=0.5, nesterov=True) == 1 - 1.5


def test_maximize_negates_the_gradient_but_not_the_decay() -> None:
    assert after(1, weight=2.0, grad=1.0, lr=0.5, weight_decay=1.0, maximize=True) == 2 - 0.5 * (-1 + 2)
