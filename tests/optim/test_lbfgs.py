"""L-BFGS against torch on problems that make it backtrack, zoom and stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.optim

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


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_steps_are_torchs(problem: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle of the optimizers: pip install torch==2.13.0")
    if problem in ("steep", "waves") and "line_search_fn" not in options:
        return  # full steps without a line search diverge, and roundings with them
    results = []
    for lib in (torch, minitorch):
        x = lib.from_numpy(np.array([-1.2, 1.0, 0.7])).requires_grad_()
        optimizer = lib.optim.LBFGS([x], **options)

        def closure(x: Any = x, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = PROBLEMS[problem](x)
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure)) for _ in range(4)]
        state = optimizer.state_dict()["state"][0]
        results.append(
            (
                losses,
                x.detach().tolist(),
                state["func_evals"],
                state["n_iter"],
                [*state],
            )
        )
    theirs, ours = results
    np.testing.assert_allclose(ours[0], theirs[0], 1e-5, 1e-9)
    np.testing.assert_allclose(ours[1], theirs[1], 1e-5, 1e-6)
    assert ours[2:4] == theirs[2:4]
    assert ours[4] == theirs[4]


def test_errors() -> None:
    x, y = (minitorch.from_numpy(np.ones(2)).requires_grad_() for _ in range(2))
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        minitorch.optim.LBFGS([{"params": [x]}, {"params": [y]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        minitorch.optim.LBFGS([x], line_search_fn="golden").step(lambda: (x * x).sum())


def test_complex_parameters_are_pairs_of_numbers() -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle of the optimizers: pip install torch==2.13.0")
    found = []
    for lib in (torch, minitorch):
        x = lib.tensor([1 + 1j, 2 - 3j], requires_grad=True)
        optimizer = lib.optim.LBFGS([x], lr=0.3, max_iter=4)

        def closure(x: Any = x, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = ((x - 2j).abs() ** 3).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        found.append((x.detach().tolist(), optimizer.state_dict()["state"][0]["d"].tolist()))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-5)
