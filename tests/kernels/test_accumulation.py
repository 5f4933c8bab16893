"""Many values for few places: short runs of one place are combined all at once, long ones one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch

PLACES = {
    "each once": np.arange(50)[::-1],
    "one only": np.full(500, 3),
    "many short": np.arange(400) % 50,
    "few long": np.arange(900) % 3,
    "one long among short": np.concatenate([np.full(300, 7), np.arange(50), np.arange(20)]),
    "single": np.array([4]),
}


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("dim", [0, 1])
def test_runs(places: str, dim: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    index = PLACES[places].astype(np.int64).copy()
    random = np.random.default_rng(0)
    target, values = random.standard_normal((50, 6)), random.standard_normal((len(index), 6))
    if dim == 1:
        target, values = target.T, values.T

    def run(lib: Any) -> list[Any]:
        into, of, where = lib.from_numpy(target), lib.from_numpy(values), lib.from_numpy(index)
        table = lib.from_numpy(random.standard_normal((50, 3))).requires_grad_()
        rows = lib.nn.functional.embedding(where, table, scale_grad_by_freq=True)
        rows.backward(lib.from_numpy(np.arange(rows.numel(), dtype=np.float64).reshape(rows.shape)))
        results = [into.index_add(dim, where, of), into.index_reduce(dim, where, of, "amax"), table.grad]
        return [each.numpy() for each in results]

    for ours, theirs in zip(run(minitorch), run(torch), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-12)


def test_the_gradient_of_a_table_has_no_negative_zeros() -> None:
    """For each of its rows starts with 0, to which the gradients are added."""
    table = minitorch.zeros(3, 2, requires_grad=True)
    rows = minitorch.nn.functional.embedding(minitorch.tensor([0, 2, 2]), table)
    rows.backward(minitorch.full((3, 2), -0.0))
    assert not table.grad.signbit().any()
