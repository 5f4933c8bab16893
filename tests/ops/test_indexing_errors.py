"""Indices that fit nothing: PyTorch's words, which count the dimensions that are indexed and no others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.same import attempt, exactly_the_same

LINES = """
    x[i(1, 5)]
    x[:, i(1, -7)]
    x[i(0, 1), i(0, 4)]
    x[mask, i(0, 1, 2, 0, 1, 2, 0, 1, 2)]
    x[i(9, 1), i(0, 9)]
    x[i(1, 9), i(9, 0)]
    x[i(0), :, i(2)]
    x[[0], 1, [5]]
    x[None, i(3)]
    x[i(0, 1).view(2, 1), i(0, 1, 4)]
    x[i(0, 1), i(0, 1, 2)]
    x.__setitem__((slice(None), i(4)), 1.0)
    x.__setitem__((i(0, 1), i(0, 1, 2)), 1.0)
    x.index_put((i(0), i(4)), t.ones(1))
    x.index_put((i(0), i(4)), t.ones(1), accumulate=True)
"""


@pytest.mark.parametrize("line", [line.strip() for line in LINES.strip().splitlines()])
@exactly_the_same
def test_like_torch(torch: Any, line: str) -> Any:
    names = {"t": torch, "x": torch.zeros(3, 4, 2), "i": lambda *places: torch.tensor(places)}
    mask = torch.tensor([[True, False, True, True]] * 3)
    error = attempt(lambda: eval(line, names | {"mask": mask}))
    assert "IndexError" in str(error)
    return error
