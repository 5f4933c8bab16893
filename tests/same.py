"""One way to say: run this by torch and by minitorch, and what it returns must be the same.

    @same
    def test_sums(torch):
        return torch.ones(2, 3).sum(0)

The first argument of such a test is the library, the others are parameters and fixtures. It fails where it raises,
by either library: an error that is expected is returned, as `attempt` tells it.
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

Test = Callable[..., Any]


def same_within(tolerance: float) -> Callable[[Test], Callable[..., None]]:
    """Makes a test of a function of the library; its numbers may differ by the tolerance, absolute and relative."""

    def decorate(test: Test) -> Callable[..., None]:
        others = list(inspect.signature(test).parameters.values())[1:]

        @functools.wraps(test)
        def run(**arguments: Any) -> None:
            torch = pytest.importorskip("torch", reason="the expected values are torch's")
            results = []
            for each in (minitorch, torch):
                each.manual_seed(0)
                results.append(test(each, **arguments))
            compare(*results, tolerance)

        run.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
        return run

    return decorate


same = same_within(1e-5)
exactly_the_same = same_within(0.0)


def attempt(action: Callable[..., Any], *args: Any) -> Any:
    """What an action returns, or the type and the words of its error."""
    try:
        return action(*args)
    except Exception as error:
        return type(error).__name__, str(error).replace("minitorch", "torch")


def errors(*actions: Callable[[], Any]) -> list[Any]:
    """The type and the words of what each action raises, or the repr of what it returns."""
    return [attempt(lambda action=action: repr(action())) for action in actions]  # type: ignore[misc]


def warned(torch: Any, *actions: Callable[[], Any]) -> list[list[tuple[str, str]]]:
    """What each action warns of, also where a warning comes once in a process; the same thing only once."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    found = []
    try:
        for action in actions:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                attempt(action)
            texts = [re.sub(r" \(Triggered internally at .*\)", "", str(each.message)) for each in caught]
            found.append(list(dict.fromkeys(zip([each.category.__name__ for each in caught], texts, strict=True))))
    finally:
        torch.set_warn_always(always)
    return found


def elements(tensor: Any) -> np.ndarray[Any, Any]:
    """A tensor's elements in double precision."""
    wide = tensor.cdouble() if tensor.is_complex() else tensor.double()
    return wide.detach().resolve_conj().resolve_neg().numpy()  # type: ignore[no-any-return]


def compare(actual: Any, expected: Any, tolerance: float) -> None:
    """Asserts that two results are equal: containers part by part, numbers and tensors within the tolerance."""
    if hasattr(expected, "detach"):
        assert hasattr(actual, "detach"), f"{actual!r} is no tensor; expected {expected!r}"
        assert str(actual.dtype) == str(expected.dtype)
        assert actual.requires_grad == expected.requires_grad
        assert (actual.grad_fn is None) == (expected.grad_fn is None)
        np.testing.assert_allclose(elements(actual), elements(expected), rtol=tolerance, atol=tolerance)
        assert tuple(actual.shape) == tuple(expected.shape)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected), f"{list(actual)}, expected {list(expected)}"
        for key in expected:
            try:
                compare(actual[key], expected[key], tolerance)
            except AssertionError as error:
                error.add_note(f"This is of {key!r}.")
                raise
    elif isinstance(expected, (list, tuple)):
        kind = tuple if isinstance(expected, tuple) else list
        assert isinstance(actual, kind) and len(actual) == len(expected), f"{actual!r}, expected {expected!r}"
        for one, other in zip(actual, expected, strict=True):
            compare(one, other, tolerance)
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=tolerance, abs=tolerance, nan_ok=True)
    else:
        assert actual == expected, f"{actual!r}, expected {expected!r}"
