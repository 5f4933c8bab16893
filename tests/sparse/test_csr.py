"""Sparse matrices row by row, against torch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch

torch = pytest.importorskip("torch", reason="the expected values are torch's")

Line = Callable[[Any], Any]


def matrix(lib: Any, values: Any = None, size: Any = (2, 4), dtype: Any = None) -> Any:
    values = lib.tensor([1.0, 2.0, 3.0]) if values is None else values
    return lib.sparse_csr_tensor(lib.tensor([0, 1, 3]), [1, 0, 2], values, size, dtype=dtype)


def dense(lib: Any) -> Any:
    return lib.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])


LINES: list[Line] = [
    lambda t: matrix(t),
    lambda t: t.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0]),
    lambda t: matrix(t, dtype=t.float64),
    lambda t: matrix(t, t.tensor([1, 2, 3])),
    lambda t: t.sparse_csr_tensor([0, 1, 1, 3], [1, 0, 2], [1, 2, 3], size=(3, 3)).to_dense(),
    lambda t: (matrix(t).crow_indices(), matrix(t).col_indices(), matrix(t).values()),
    lambda t: (matrix(t).layout, matrix(t).shape, matrix(t).dtype, matrix(t)._nnz(), matrix(t).numel(), len(matrix(t))),
    lambda t: (matrix(t).size(), matrix(t).size(1), matrix(t).dim(), matrix(t).is_sparse, matrix(t).is_sparse_csr),
    lambda t: (matrix(t).device, matrix(t).requires_grad, t.sparse_csr, dense(t).is_sparse_csr),
    lambda t: dense(t).to_sparse_csr(),
    lambda t: dense(t).to_sparse(layout=t.sparse_csr),
    lambda t: dense(t).to_sparse().to_sparse_csr(),
    lambda t: t.sparse_coo_tensor([[1, 0, 1], [0, 1, 0]], [1.0, 2.0, 4.0], (2, 2)).to_sparse_csr(),
    lambda t: dense(t).requires_grad_().to_sparse_csr(),
    lambda t: t.zeros(0, 3).to_sparse_csr(),
    lambda t: t.zeros(2, 3).to_sparse_csr(),
    lambda t: t.arange(2000.0).reshape(2, 1000).to_sparse_csr(),
    lambda t: (matrix(t).to_sparse(), matrix(t).to_sparse_coo(), matrix(t).to_sparse(layout=t.sparse_csr)),
    lambda t: (matrix(t).to_sparse_csr(), matrix(t).clone(), matrix(t).detach(), matrix(t).to_dense()),
    lambda t: matrix(t) @ t.arange(8.0).reshape(4, 2),
    lambda t: (matrix(t) @ t.arange(4.0), matrix(t).matmul(t.arange(4.0)), t.mv(matrix(t), t.arange(4.0))),
    lambda t: (t.mm(matrix(t), t.ones(4, 2)), t.sparse.mm(matrix(t), t.ones(4, 2)), t.matmul(matrix(t), t.ones(4))),
    lambda t: (matrix(t) * 2, 2 * matrix(t), -matrix(t), abs(-matrix(t)), t.abs(matrix(t)), t.mul(matrix(t), 3)),
    lambda t: (matrix(t).sum(), t.sum(matrix(t))),
    lambda t: matrix(t) @ t.ones(5),
    lambda t: matrix(t) @ t.ones(5, 2),
]


def outcome(line: Line, lib: Any) -> str:
    """What a line gives, as it is printed, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(line(lib)).replace("minitorch", "torch")
        except RuntimeError as error:
            return f"RuntimeError: {error}"


@pytest.mark.parametrize("line", LINES)
def test_matrices(line: Line) -> None:
    assert outcome(line, minitorch) == outcome(line, torch)


def test_the_gradient_of_the_dense_factor() -> None:
    gradients = []
    for lib in (torch, minitorch):
        x = lib.ones(3, 2, requires_grad=True)
        (dense(lib).to_sparse_csr() @ x).pow(2).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


def test_the_gradient_of_the_listed_elements() -> None:
    """That of the dense matrix, where they are."""
    w = dense(minitorch).requires_grad_()
    (w.to_sparse_csr() @ minitorch.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [[0, 2, 0], [1, 0, 3]]


@pytest.mark.parametrize(
    ("begins", "columns"),
    [
        ([0, 1], [1, 0, 2]),
        ([1, 1, 3], [1, 0, 2]),
        ([0, 1, 2], [1, 0, 2]),
        ([0, 4, 3], [1, 0, 2]),
        ([0, 1, 3], [1, 0, 4]),
    ],
)
def test_indices_that_describe_no_matrix_are_refused(begins: list[int], columns: list[int]) -> None:
    """PyTorch looks at them if it is asked to."""
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError):
        torch.sparse_csr_tensor(begins, columns, [1.0, 2.0, 3.0], (2, 4))
    with pytest.raises(RuntimeError, match="describe no matrix"):
        minitorch.sparse_csr_tensor(begins, columns, [1.0, 2.0, 3.0], (2, 4))
