"""Adam's kernel computes its formula."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.arrays import fast_numpy
from minitorch.kernels.adam import adam_step
from minitorch.optim.adam import adam_formula


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("decay", "shrink", "amsgrad"), [(0, None, False), (0.1, None, True), (0, 0.9, False)])
def test_the_kernel_computes_the_formula_to_the_bit(
    kind: str, decay: float, shrink: float | None, amsgrad: bool
) -> None:
    random = np.random.default_rng(0)
    start = [random.normal(size=100).astype(kind) for _ in range(2)]
    start += [random.uniform(size=100).astype(kind) for _ in range(3)]
    results = []
    for step in (adam_formula, adam_step):
        x, g, m, v, top = (each.copy() for each in start)
        step(fast_numpy, x, g, m, v, top if amsgrad else v, (0.9, 0.99), 0.3, 0.7, 1e-3, decay, shrink, amsgrad)
        results.append(np.stack([x, g, m, v, top]))
    np.testing.assert_array_equal(results[0], results[1])
