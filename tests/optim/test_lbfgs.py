"""L-BFGS against torch on problems that make it backtrack, zoom and stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.optim
from tests.same import same_within

PROBLEMS: dict[str, Callable[[Any], Any]] = {
    "quadratic": lambda x: ((x - 3) * (x - 3) * (x * 0 + 2)).sum() + (x[0] * x[1]),
    "Rosenbrock": lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + x[2] ** 2,
    "waves": lambda x: (x * x).sum() * 0.1 + (x * 3).sin().sum(),
    "steep": lambda x: (x * x * x * x).sum() * 100,
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.1},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 7},
    {"lr": 0.5, "max_iter": 5, "max_eval": 3},
]


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        pytest.param(problem, options, id=f"{problem}-{options}")
        for problem in PROBLEMS
        for options in OPTIONS
        if problem not in ("steep", "waves")
        or "line_search_fn" in options  # full steps diverge, and roundings with them
    ],
)
@same_within(1e-6)
def test_steps_are_torchs(torch: Any, problem: str, options: dict[str, Any]) -> Any:
    x = torch.from_numpy(np.array([-1.2, 1.0, 0.7])).requires_grad_()
    optimizer = torch.optim.LBFGS([x], **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = PROBLEMS[problem](x)
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(4)]
    state = optimizer.state_dict()["state"][0]
    return losses, x, state["func_evals"], state["n_iter"], list(state)


def test_errors() -> None:
    x, y = (minitorch.from_numpy(np.ones(2)).requires_grad_() for _ in range(2))
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        minitorch.optim.LBFGS([{"params": [x]}, {"params": [y]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        minitorch.optim.LBFGS([x], line_search_fn="golden").step(lambda: (x * x).sum())


@same_within(5e-6)
def test_complex_parameters_are_pairs_of_numbers(torch: Any) -> Any:
    x = torch.tensor([1 + 1j, 2 - 3j], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=0.3, max_iter=4)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((x - 2j).abs() ** 3).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return x, optimizer.state_dict()["state"][0]["d"]
