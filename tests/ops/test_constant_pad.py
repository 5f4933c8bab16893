"""`torch.constant_pad_nd`, which takes numbers of every type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.same import errors, exactly_the_same


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "float16", "float32", "complex64"])
@exactly_the_same
def test_frames(torch: Any, dtype: str) -> Any:
    matrix = torch.tensor([[1, 0, 1], [0, 1, 1]], dtype=getattr(torch, dtype))
    return [torch.constant_pad_nd(matrix, *each) for each in (((1, 2),), ((0, 1, 2, 0), 3), ((-1, 1), -1), ((), 1))]


@exactly_the_same
def test_gradients(torch: Any) -> Any:
    matrix = torch.ones(2, 3, requires_grad=True)
    padded = torch.constant_pad_nd(matrix, (1, -1, 2, 0), 2.5)
    (padded * torch.arange(12.0).reshape(4, 3)).sum().backward()
    return [padded, matrix.grad]


@exactly_the_same
def test_complex_numbers(torch: Any) -> Any:
    return torch.constant_pad_nd(torch.ones(2, dtype=torch.complex64), (1, 1), 1j)


@exactly_the_same
def test_errors(torch: Any) -> Any:
    vector = torch.ones(2)
    return errors(
        lambda: torch.constant_pad_nd(vector, (1,)),
        lambda: torch.constant_pad_nd(vector, (1, 1, 1, 1)),
        lambda: torch.constant_pad_nd(vector, (-3, 0)),
        lambda: torch.constant_pad_nd(vector, (1, 1), 1e39),
        lambda: torch.constant_pad_nd(vector, (1, 1), 1j),
        lambda: torch.constant_pad_nd(vector.to(torch.uint8), (1, 1), 300),
    )
