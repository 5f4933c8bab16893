"""Which names of torch.distributions there are, and that arguments have the same names and defaults."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import minitorch


def oracle() -> Any:
    return pytest.importorskip("torch", reason="the names are torch's").distributions


def test_names() -> None:
    missing = {name for name in oracle().__all__ if not hasattr(minitorch.distributions, name)}
    assert not missing


def test_constraints() -> None:
    names = oracle().constraints.__all__
    missing = {name for name in names if not hasattr(minitorch.distributions.constraints, name)}
    assert not missing


def parameters(function: Any) -> list[tuple[str, Any]]:
    """Names and defaults. A shape () is the same as torch.Size([])."""
    given = inspect.signature(function).parameters.values()
    return [(each.name, tuple(each.default) if isinstance(each.default, tuple) else each.default) for each in given]


METHODS = ("__init__", "expand", "sample", "rsample", "log_prob", "cdf", "icdf", "entropy", "enumerate_support")


@pytest.mark.parametrize("method", METHODS)
def test_parameters(method: str) -> None:
    differences = []
    for name in oracle().__all__:
        theirs, ours = getattr(oracle(), name), getattr(minitorch.distributions, name, None)
        if inspect.isclass(theirs) and ours is not None and hasattr(theirs, method):
            expected, actual = parameters(getattr(theirs, method)), parameters(getattr(ours, method))
            if actual != expected:
                differences.append((name, actual, expected))
    assert not differences
