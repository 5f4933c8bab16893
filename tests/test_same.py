"""`same` lets pass what is the same by both libraries, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import attempt, exactly_the_same, same


@pytest.mark.parametrize("count", [0, 3])
@same
def test_parameters_and_fixtures_follow_the_library(torch: Any, count: int, tmp_path: Any) -> Any:
    assert tmp_path.is_dir()
    return torch.ones(count), {"count": count, "list": [1.0, float("nan")]}, attempt(torch.ones, "x" * count)[0]


DIFFERENT: dict[str, Callable[[Any, bool], Any]] = {
    "a value": lambda torch, ours: torch.ones(2) + ours,
    "an imaginary part": lambda torch, ours: torch.tensor([1 + 1j * ours]),
    "a shape": lambda torch, ours: torch.ones(1, 2) if ours else torch.ones(2),
    "a dtype": lambda torch, ours: torch.ones(2, dtype=torch.float64 if ours else torch.float32),
    "requires_grad": lambda torch, ours: torch.ones(2, requires_grad=ours),
    "a history": lambda torch, ours: torch.ones(2, requires_grad=True) * 1 if ours else torch.ones(2).requires_grad_(),
    "no tensor": lambda torch, ours: [1.0, 1.0] if ours else torch.ones(2),
    "a length": lambda torch, ours: [1] * (1 + ours),
    "a tuple": lambda torch, ours: (1, 2) if ours else [1, 2],
    "a key": lambda torch, ours: {ours: 1},
    "an entry": lambda torch, ours: {"a": [1, {"b": ours}]},
    "a number": lambda torch, ours: 1.0 + 1e-3 * ours,
    "a word": lambda torch, ours: str(ours),
    "an error": lambda torch, ours: attempt({}.__getitem__, ours),
}


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_fails(name: str) -> None:
    with pytest.raises(AssertionError):
        same(lambda torch: DIFFERENT[name](torch, torch is minitorch))()


@pytest.mark.needs("torch")
def test_what_raises_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        same(lambda torch: 1 / 0)()


@pytest.mark.needs("torch")
def test_a_tolerance_of_nothing() -> None:
    same(lambda torch: 1.0 + 1e-9 * (torch is minitorch))()
    with pytest.raises(AssertionError):
        exactly_the_same(lambda torch: 1.0 + 1e-9 * (torch is minitorch))()
