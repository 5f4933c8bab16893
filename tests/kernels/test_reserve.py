"""Normal numbers made ahead of use: whatever is drawn between them, numbers and states are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.kernels.sampling.reserve import LARGEST
from tests.same import exactly_the_same

torch = pytest.importorskip("torch", reason="torch, which the numbers are compared with, is not installed")

Draw = Callable[[Any, Any], Any]
"""Given the library and a generator, a tensor."""


def _normals(size: int, dtype: str, mean: float = 0, std: float = 1) -> Draw:
    return lambda lib, generator: lib.empty(size, dtype=getattr(lib, dtype)).normal_(mean, std, generator=generator)


def _after_a_copy(lib: Any, generator: Any) -> Any:
    copy = generator.clone_state()
    lib.randn(50, generator=generator)
    return lib.randn(100, generator=copy)


def _again(lib: Any, generator: Any) -> Any:
    state = generator.get_state()
    lib.randn(100, generator=generator)
    generator.set_state(state)
    return lib.randn(100, generator=generator)


BETWEEN: dict[str, Draw] = {
    "the state": lambda lib, generator: generator.get_state(),
    "a copy": _after_a_copy,
    "an earlier state": _again,
    "a seed": lambda lib, generator: lib.tensor(generator.manual_seed(7).initial_seed()),
    "uniform numbers": lambda lib, generator: lib.rand(33, generator=generator),
    "a permutation": lambda lib, generator: lib.randperm(20, generator=generator),
    "a few normals, of which one waits": _normals(5, "float32"),
    "float64": _normals(40, "float64"),
    "float16": _normals(40, "float16"),
    "many": _normals(5000, "float32"),
    "others": _normals(30, "float32", 2.0, 3.0),
}


def _drawn(lib: Any, between: Draw, sizes: list[int]) -> list[Any]:
    generator = lib.Generator().manual_seed(3)
    results = []
    for number, size in enumerate(sizes):
        results.append(lib.randn(size, generator=generator).numpy())
        if number % 3 == 2:
            results.append(between(lib, generator).numpy())
    return [*results, generator.get_state().numpy()]


@pytest.mark.parametrize("between", BETWEEN)
def test_what_is_drawn_between(between: str) -> None:
    sizes = [16, 100, 17, 32, 33, 1000, 1024, 31, 100, 100, 100, 100, 624, 100, 1023, 48, 18, 100]
    for own, expected in zip(
        _drawn(minitorch, BETWEEN[between], sizes), _drawn(torch, BETWEEN[between], sizes), strict=True
    ):
        assert own.tobytes() == expected.tobytes()


def test_until_the_largest_reserve_runs_out() -> None:
    draws = 5 * LARGEST // 100 * [100]
    nothing: Draw = lambda lib, generator: lib.tensor(0)  # noqa: E731
    for own, expected in zip(_drawn(minitorch, nothing, draws), _drawn(torch, nothing, draws), strict=True):
        assert own.tobytes() == expected.tobytes()


@exactly_the_same
def test_a_radius_of_zero(torch: Any) -> Any:
    """Draws of zero give −0, to which the mean is added."""
    generator = torch.Generator()
    state = generator.get_state().numpy().copy()
    state[24 : 24 + 624 * 8] = 0  # the words of the Mersenne Twister
    generator.set_state(torch.from_numpy(state))
    drawn = torch.randn(100, generator=generator).numpy().tobytes()
    assert drawn == np.zeros(100, np.float32).tobytes()
    return drawn
