"""Approximations of low rank, on matrices of that rank: what they return is unique up to signs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.same import errors, same_within


def _of_rank_two(torch: Any, *shape: int) -> Any:
    left, right = torch.randn(*shape[:-1], 2, dtype=torch.float64), torch.randn(2, shape[-1], dtype=torch.float64)
    return left @ right + 3


def _without_signs(parts: Any) -> list[Any]:
    left, values, right = parts
    return [values, left @ values.diag_embed() @ right.mH, left.abs()[..., :2], right.abs()[..., :2]]


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 6, 5)])
@same_within(1e-7)
def test_principal_components(torch: Any, shape: tuple[int, ...]) -> Any:
    matrix = _of_rank_two(torch, *shape)
    whole = torch.pca_lowrank(matrix, q=4)
    return [_without_signs(whole), [each.shape for each in torch.pca_lowrank(matrix, q=2, center=False, niter=1)]]


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 6, 5)])
@same_within(1e-7)
def test_singular_values(torch: Any, shape: tuple[int, ...]) -> Any:
    matrix = _of_rank_two(torch, *shape)
    return _without_signs(torch.svd_lowrank(matrix, 4, M=torch.full(shape[-1:], 3.0, dtype=torch.float64)))


@same_within(0.0)
def test_numbers_out_of_range(torch: Any) -> Any:
    matrix = torch.ones(3, 2)
    return errors(lambda: torch.pca_lowrank(matrix, q=3), lambda: torch.pca_lowrank(matrix, niter=-1))
