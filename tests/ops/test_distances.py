"""Distances of many points: the table is computed in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("shapes", [((300, 300),), ((5, 50000),), ((90, 80), (70, 80)), ((2, 40, 500), (30, 500))])
def test_tiles(p: float, shapes: tuple[tuple[int, ...], ...]) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

    def run(lib: Any) -> list[Any]:
        random = np.random.default_rng(0)
        points = [lib.from_numpy(random.standard_normal(shape)).requires_grad_() for shape in shapes]
        far = lib.nn.functional.pdist(*points, p=p) if len(points) == 1 else lib.cdist(*points, p=p)
        far.backward(lib.from_numpy(random.standard_normal(tuple(far.shape))))
        return [far.detach().numpy(), *[each.grad.numpy() for each in points]]

    for ours, theirs in zip(run(minitorch), run(torch), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)
