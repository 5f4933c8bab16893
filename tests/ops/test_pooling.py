"""Pools: without a gradient, where nothing is larger than the padding, and of inputs without channels or elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.same import errors, exactly_the_same

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"padding": 1}, {"dilation": 2}, {"ceil_mode": True}])
@exactly_the_same
def test_one_dimension_without_a_gradient(torch: Any, options: Any) -> Any:
    array = np.random.default_rng(0).standard_normal((2, 3, 11)).astype("float32")
    array[0, 0, :4], array[1, 1, 5] = -INF, NAN
    return torch.nn.functional.max_pool1d(torch.from_numpy(array), 3, **options)


@pytest.mark.parametrize("value", [-INF, NAN, 0.0])
@exactly_the_same
def test_equal_elements(torch: Any, value: float) -> Any:
    """Of equal numbers the first is taken, of several NaN the last, and never the padding."""
    array = np.full((1, 2, 5, 5), value, "float32")
    array[0, 1, 2, 2] = NAN
    return torch.nn.functional.max_pool2d(torch.from_numpy(array), 3, 2, 1, return_indices=True)


@exactly_the_same
def test_gradient_beside_infinity(torch: Any) -> Any:
    """What was not the largest gets exactly 0, also where the gradient is infinite."""
    x = torch.tensor([[[[1.0, 2.0], [4.0, 3.0]]]], requires_grad=True)
    torch.nn.functional.max_pool2d(x, 2).backward(torch.tensor([[[[INF]]]]))
    return x.grad


POOLS = [f"{kind}_pool{n}d" for kind in ("avg", "max", "adaptive_avg", "adaptive_max") for n in (1, 2, 3)]


@pytest.mark.parametrize("name", [*POOLS, "lp_pool1d", "lp_pool2d"])
@exactly_the_same
def test_an_input_without_channels_or_elements(torch: Any, name: str) -> Any:
    pool = getattr(torch.nn.functional, name)
    norm = (2.0,) if name.startswith("lp") else ()
    full = [(3,) * dims for dims in range(7)]
    empty = [(*shape[:dim], 0, *shape[dim + 1 :]) for shape in full for dim in range(len(shape))]
    return errors(*(lambda shape=shape: pool(torch.ones(shape), *norm, 2).shape for shape in full + empty))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
@exactly_the_same
def test_adaptive_sizes_that_cannot_be(torch: Any, kind: str, n: int) -> Any:
    pool, x = getattr(torch.nn.functional, f"adaptive_{kind}_pool{n}d"), torch.ones((2, 3) + (4,) * n)
    sizes = [[], [1] * (n + 1), -1, [-1] * n, list(range(-1, n - 1))]
    return errors(*(lambda size=size: pool(x, size) for size in sizes))
