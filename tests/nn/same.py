"""The same program run by torch and by minitorch: what it returns must be the same.

A scenario is a function of the library. Everything in its result is made comparable: tensors become their repr and
exact bytes stay out of it, since a sum may be rounded in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch


def outcome(scenario: Callable[[Any], Any], library: Any) -> Any:
    """The result of a scenario, or its error as a pair of type and message."""
    library.manual_seed(0)
    try:
        return scenario(library)
    except Exception as error:
        return type(error).__name__, str(error).replace("minitorch.", "torch.")


Scenario = Callable[[Any], Any]


class Scenarios(list[Scenario]):
    """The scenarios of a file; as a decorator it adds one."""

    def __call__(self, scenario: Scenario) -> Scenario:
        self.append(scenario)
        return scenario


def assert_comes_out_the_same(scenario: Scenario, tolerance: float) -> None:
    """`assert_same` for scenarios that return lists: one that torch fails itself is no scenario."""
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    expected = outcome(scenario, torch)
    assert isinstance(expected, list), f"the scenario itself fails: {expected}"
    compare(outcome(scenario, minitorch), expected, tolerance)


def errors(*actions: Callable[[], Any]) -> list[Any]:
    """The type and the message of what each action raises, or the repr of what it returns."""
    raised: list[Any] = []
    for action in actions:
        try:
            raised.append(repr(action()))
        except Exception as error:
            raised.append((type(error).__name__, str(error).replace("minitorch.", "torch.")))
    return raised


def assert_same(scenario: Callable[[Any], Any], tolerance: float = 1e-5) -> None:
    """Runs a scenario in both libraries and compares."""
    torch = pytest.importorskip("torch", reason="the expected values are torch's")
    compare(outcome(scenario, minitorch), outcome(scenario, torch), tolerance)


def compare(actual: Any, expected: Any, tolerance: float) -> None:
    """Asserts that two results are equal: containers part by part, tensors within the tolerance."""
    if hasattr(expected, "detach"):
        assert hasattr(actual, "detach"), f"{actual!r} is no tensor; expected {expected!r}"
        assert str(actual.dtype) == str(expected.dtype)
        assert actual.requires_grad == expected.requires_grad
        assert (actual.grad_fn is None) == (expected.grad_fn is None)
        np.testing.assert_allclose(
            actual.detach().double().numpy(), expected.detach().double().numpy(), rtol=tolerance, atol=tolerance
        )
        assert tuple(actual.shape) == tuple(expected.shape)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key in expected:
            compare(actual[key], expected[key], tolerance)
    elif isinstance(expected, (list, tuple)):
        assert isinstance(actual, (list, tuple)), f"{actual!r} != {expected!r}"
        assert len(actual) == len(expected), f"{actual!r} != {expected!r}"
        for one, other in zip(actual, expected, strict=True):
            compare(one, other, tolerance)
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=tolerance, abs=tolerance, nan_ok=True)
    else:
        assert actual == expected
