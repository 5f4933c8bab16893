"""Products of matrices that BLAS is given in another order, against torch."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize(("rows", "depth", "columns"), [(5, 256, 8), (64, 784, 256), (1, 512, 300), (64, 256, 64)])
def test_few_rows(rows: int, depth: int, columns: int, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    random = np.random.default_rng(0)
    x, weight, bias = (
        (10 * random.standard_normal(shape)).astype(dtype) for shape in ((rows, depth), (columns, depth), (columns,))
    )

    def results(lib: object) -> list[object]:
        a, b, c = (lib.from_numpy(each) for each in (x, weight, bias))  # type: ignore[attr-defined]
        return [a @ b.t(), lib.addmm(c, a, b.t()), lib.nn.functional.linear(a, b, c)]  # type: ignore[attr-defined]

    for ours, theirs in zip(results(minitorch), results(torch), strict=True):
        tolerance = 1e-2 if dtype in ("float32", "complex64") else 1e-9  # of sums in the thousands
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=tolerance)  # type: ignore[attr-defined]
        assert ours.stride() == theirs.stride()  # type: ignore[attr-defined]
