"""What the tests of mytorch compare with minitorch's: what a call shows, and lists of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

import minitorch

Call = Callable[[Any], Any]


def outcome(call: Call, library: Any, show: Callable[[Any], Any] = repr) -> Any:
    """What a call shows: its result as text, or the error's type and message."""
    try:
        result = call(library)
    except Exception as error:
        return type(error).__name__, str(error)
    return show(result)


def same(call: Call, mytorch: ModuleType, show: Callable[[Any], Any] = repr) -> None:
    """Asserts that a call shows the same of both libraries."""
    assert outcome(call, mytorch, show) == outcome(call, minitorch, show)


def close(mine: Iterable[Any], expected: Iterable[Any], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Asserts that tensors, arrays and numbers agree one by one, in shape too, and that None stands by None."""
    for one, other in zip(map(listed, mine), map(listed, expected), strict=True):
        assert (one is None, np.shape(one)) == (other is None, np.shape(other))
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def listed(value: Any) -> Any:
    """A tensor's elements in lists; another value as it is."""
    return value.detach().tolist() if hasattr(value, "detach") else value


def numbers(*size: int, seed: int = 0) -> Any:
    """The same normal numbers for every library."""
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)
