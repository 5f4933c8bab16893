"""The fused part of an LSTM's step against PyTorch's cell and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd import gradcheck, gradgradcheck
from minitorch.ops.nn.fused_cells import lstm_cell


def arrays() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.standard_normal((3, 8)), random.standard_normal((3, 2))


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_like_torch(used: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

    def run(lib: Any, step: Any) -> list[Any]:
        total, cell = (lib.from_numpy(each).requires_grad_() for each in arrays())
        outputs = step(total, cell)
        sum((outputs[i] * (i + 2)).sum() for i in used).backward()
        return [each.detach().numpy() for each in (*outputs, total.grad, cell.grad)]

    def cell_of_torch(total: Any, cell: Any) -> Any:
        identity, zeros = torch.eye(8, dtype=torch.float64), torch.zeros(8, 2, dtype=torch.float64)
        return torch.lstm_cell(total, (torch.zeros_like(cell), cell), identity, zeros)

    for ours, theirs in zip(run(minitorch, lstm_cell), run(torch, cell_of_torch), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-12)


def test_derivatives() -> None:
    inputs = tuple(minitorch.tensor(each).requires_grad_() for each in arrays())
    assert gradcheck(lstm_cell, inputs)
    assert gradgradcheck(lstm_cell, inputs)
