"""NaN, overflow and division by zero, where PyTorch's own formula decides what comes out."""

import math
from typing import Any

import pytest

from tests.same import same


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    "boundaries", [[1.0, 2.0, 3.0], [1.0, 2.0, math.nan], [1.0, math.nan, math.nan], [math.nan, 1.0, 2.0], []]
)
@same
def test_searchsorted_among_nan(torch: Any, boundaries: list[float], right: bool) -> Any:
    values = torch.tensor([[math.nan, 1.0, 2.0], [math.inf, -math.inf, 5.0]])
    sequence = torch.tensor(boundaries)
    rows = torch.stack([sequence, sequence.flip(0)])
    return (
        torch.searchsorted(sequence, values, right=right),
        torch.searchsorted(rows, values, right=right),
        torch.searchsorted(sequence.double(), values.double(), right=right, out_int32=True),
        torch.bucketize(values, sequence, right=right),
        torch.bucketize(math.nan, sequence, right=right),
    )


@pytest.mark.parametrize(("rows", "values"), [((2, 0), (2, 3)), ((2, 3), (2, 0)), ((0, 3), (0, 2)), ((0, 0), (0, 0))])
@same
def test_searchsorted_of_empty_rows(torch: Any, rows: Any, values: Any) -> Any:
    return torch.searchsorted(torch.zeros(rows), torch.zeros(values))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
@same
def test_lcm_that_overflows(torch: Any, dtype: str) -> Any:
    kind = getattr(torch, dtype)
    most = torch.iinfo(kind).max
    a, b = [most, most - 1, most - 4, 100, 0, 0, 42], [most - 1, most - 2, 3, 99, 0, 7, 60]
    return torch.lcm(torch.tensor(a, dtype=kind), torch.tensor(b, dtype=kind))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@same
def test_the_reciprocal_of_a_complex_zero(torch: Any, dtype: str) -> Any:
    zeros = torch.tensor([0j, complex(-0.0, -0.0), 2j, 0j, 3 + 4j], dtype=getattr(torch, dtype))
    results = [zeros.reciprocal(), *(zeros**power for power in (-1, -0.5, -2, -3)), 1 / zeros, zeros / zeros]
    return [torch.view_as_real(each) for each in results]


@pytest.mark.parametrize("name", ["logdet", "slogdet"])
@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, 2.0], [2.0, 4.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[0.0, 1.0], [0.0, 0.0]],
        [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 3.0]],
        [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [1.0, 1.0]]],
    ],
)
@same
def test_the_gradient_of_a_singular_matrix_s_log_determinant(torch: Any, name: str, matrix: Any) -> Any:
    x = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
    result = getattr(torch, name)(x)
    (result if name == "logdet" else result[1]).sum().backward()
    return x.grad


INFINITE = [complex(x, y) for x in (0.0, 1.0, math.inf, -math.inf, math.nan) for y in (0.0, 1.0, math.inf, math.nan)]


@pytest.mark.parametrize("other", [math.inf, 1e39, complex(1, math.inf), 1.5], ids=str)
@same
def test_a_complex_sum_multiplies_by_one(torch: Any, other: complex) -> Any:
    """So that ∞ + 0i is added as ∞ + NaN i."""
    x = torch.tensor(INFINITE, dtype=torch.complex64)
    y = x.flip(0)
    results = [x + other, other + x, x - other, x.clone().add_(other), x + y, torch.add(x, y, alpha=2), x + y.real]
    return [[repr(each) for each in result.tolist()] for result in results]
