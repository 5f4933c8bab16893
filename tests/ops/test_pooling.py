"""Maxima of windows: without a gradient, and where nothing is larger than the padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch

INF, NAN = np.inf, np.nan


def both(name: str, array: Any, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    return tuple(
        getattr(lib.nn.functional, name)(lib.from_numpy(array), *arguments, **options) for lib in (minitorch, torch)
    )


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"padding": 1}, {"dilation": 2}, {"ceil_mode": True}])
def test_one_dimension_without_a_gradient(options: Any) -> None:
    array = np.random.default_rng(0).standard_normal((2, 3, 11)).astype("float32")
    array[0, 0, :4], array[1, 1, 5] = -INF, NAN
    ours, theirs = both("max_pool1d", array, 3, **options)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("value", [-INF, NAN, 0.0])
def test_equal_elements(value: float) -> None:
    """Of equal numbers the first is taken, of several NaN the last, and never the padding."""
    array = np.full((1, 2, 5, 5), value, "float32")
    array[0, 1, 2, 2] = NAN
    for ours, theirs in zip(*both("max_pool2d", array, 3, 2, 1, return_indices=True), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_gradient_beside_infinity() -> None:
    """What was not the largest gets exactly 0, also where the gradient is infinite."""
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    grads = []
    for lib in (minitorch, torch):
        x = lib.tensor([[[[1.0, 2.0], [4.0, 3.0]]]], requires_grad=True)
        lib.nn.functional.max_pool2d(x, 2).backward(lib.tensor([[[[INF]]]]))
        grads.append(x.grad.numpy())
    np.testing.assert_array_equal(*grads)
