"""What the tests of mytorch compare with minitorch's, and with PyTorch's: what a call shows, and lists of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import minitorch

try:
    import torch as pytorch
except ImportError:  # then a fault that minitorch and mytorch share goes unseen here
    pytorch = None

ORACLES = [minitorch, pytorch] if pytorch else [minitorch]
Call = Callable[[Any], Any]


def outcome(call: Call, library: Any, show: Callable[[Any], Any] = repr) -> Any:
    """What a call shows: its result as text, or the error's type and message."""
    try:
        result = call(library)
    except Exception as error:
        return type(error).__name__, str(error)
    return show(result)


def same(call: Call, mytorch: ModuleType, show: Callable[[Any], Any] = repr, *, beside_pytorch: bool = True) -> None:
    """Asserts that a call shows the same of both libraries, and of PyTorch where it is installed.

    `beside_pytorch` is False where PyTorch's answer depends on the machine: on a GPU, or on the order of a long sum.
    """
    found = outcome(call, mytorch, show)
    assert found == outcome(call, minitorch, show)
    if beside_pytorch and pytorch is not None:
        assert found == outcome(call, pytorch, show)


def agree(call: Callable[[Any], Sequence[Any]], mytorch: ModuleType, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Asserts that the tensors and numbers that a call gives are close in both libraries, and in PyTorch.

    So results are compared that may differ in their last digits, as sums in another order do.
    """
    mine = call(mytorch)
    for library in ORACLES:
        close(mine, call(library), rtol, atol)


def close(mine: Sequence[Any], expected: Sequence[Any], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Asserts that tensors, arrays, numbers and texts agree one by one, in shape too, and that None stands by None."""
    for one, other in zip(map(listed, mine), map(listed, expected), strict=True):
        assert (one is None, np.shape(one)) == (other is None, np.shape(other))
        if isinstance(one, str):
            assert one == other
        elif one is not None:
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def listed(value: Any) -> Any:
    """A tensor's elements in lists; another value as it is."""
    return value.detach().tolist() if hasattr(value, "detach") else value


def numbers(*size: int, seed: int = 0) -> Any:
    """The same normal numbers for every library."""
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)
