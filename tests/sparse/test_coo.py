"""Sparse matrices in coordinates, against torch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import exactly_the_same

torch = pytest.importorskip("torch", reason="the expected values are torch's")

Line = Callable[[Any], Any]


def matrix(lib: Any, values: Any = None, size: Any = (3, 3), dtype: Any = None) -> Any:
    """With one place named twice, not in order."""
    values = lib.tensor([1.5, 2.0, -3.0, 4.0]) if values is None else values
    return lib.sparse_coo_tensor([[2, 0, 1, 0], [0, 1, 2, 1]], values, size, dtype=dtype)


def other_matrix(lib: Any) -> Any:
    return lib.tensor([[0.0, 2.0, 0.0], [5.0, 0.0, 6.0], [7.0, 0.0, 0.0]]).to_sparse()


def outcome(line: Line, lib: Any) -> str:
    """What a line gives, as it is printed, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, that it doesn't look at the indices
        try:
            return repr(line(lib)).replace("minitorch", "torch")
        except RuntimeError as error:
            return f"RuntimeError: {error}"


def written_to(t: Any, other: Any) -> Any:
    dense = same = t.ones(3, 3)
    dense += other
    return same


LINES: list[Line] = [
    lambda t: matrix(t),
    lambda t: matrix(t).coalesce(),
    lambda t: matrix(t, t.ones(4, requires_grad=True)),
    lambda t: matrix(t, t.ones(4, requires_grad=True)).coalesce(),
    lambda t: matrix(t, dtype=t.float64),
    lambda t: matrix(t, t.ones(4).long()),
    lambda t: t.sparse_coo_tensor([[2, 0], [0, 4]], [1.0, 2.0]).shape,
    lambda t: matrix(t, size=(3, 5)).t(),
    lambda t: matrix(t).coalesce().indices(),
    lambda t: matrix(t).coalesce().values(),
    lambda t: matrix(t).indices(),
    lambda t: matrix(t).values(),
    lambda t: (matrix(t).is_coalesced(), matrix(t).coalesce().is_coalesced(), t.eye(2).to_sparse().is_coalesced()),
    lambda t: (matrix(t)._nnz(), matrix(t).layout, matrix(t).is_sparse, matrix(t).dtype, matrix(t).size(1)),
    lambda t: matrix(t).to_dense(),
    lambda t: t.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(),
    lambda t: t.eye(2, requires_grad=True).to_sparse(),
    lambda t: t.zeros(2, 3).to_sparse().to_dense(),
    lambda t: t.sparse.mm(matrix(t), t.arange(6.0).reshape(3, 2)),
    lambda t: matrix(t) @ t.arange(3.0),
    lambda t: t.sparse.mm(matrix(t), t.ones(2, 2)),
    lambda t: t.ones(3, 3) + matrix(t),
    lambda t: t.ones(3, 3).t() + t.eye(3).to_sparse(),
    lambda t: t.add(t.ones(3, 3), matrix(t), alpha=2),
    lambda t: t.add(t.ones(3, 3), matrix(t), out=t.zeros(3, 3)),
    lambda t: t.ones(3, 3).add_(matrix(t), alpha=-1),
    lambda t: written_to(t, matrix(t)),
    lambda t: t.ones(3, 3) - matrix(t),
    lambda t: t.ones(3, 3).sub(other=matrix(t)),
    lambda t: t.ones(3, 3).long() + matrix(t),
    lambda t: t.ones(3, 3).double() + matrix(t, t.ones(4).long()),
    lambda t: t.ones(2, 3) + matrix(t),
    lambda t: t.ones(3) - matrix(t),
    lambda t: matrix(t) + t.ones(3, 3),
    lambda t: matrix(t) - t.ones(3, 3),
    lambda t: t.add(matrix(t), t.ones(3, 3)),
    lambda t: t.add(2.0, matrix(t)),
    lambda t: matrix(t) * 2,
    lambda t: 2.5 * matrix(t, t.ones(4).long()),
    lambda t: matrix(t, t.ones(4, requires_grad=True)) * t.tensor(2.0, dtype=t.float64),
    lambda t: t.tensor(2.0) * matrix(t).coalesce(),
    lambda t: (matrix(t).mul(2).is_coalesced(), (matrix(t).coalesce() * 2).is_coalesced()),
    lambda t: matrix(t, t.ones(4).long()) / 2,
    lambda t: matrix(t, t.ones(4, requires_grad=True)).div(t.tensor(2.0)),
    lambda t: matrix(t) / t.ones(3, 3),
    lambda t: -matrix(t, t.ones(4, requires_grad=True)),
    lambda t: matrix(t).coalesce() * other_matrix(t),
    lambda t: matrix(t) * other_matrix(t),
    lambda t: other_matrix(t) * matrix(t),
    lambda t: matrix(t) * matrix(t),
    lambda t: (other_matrix(t) * matrix(t).coalesce()).is_coalesced(),
    lambda t: (other_matrix(t) * matrix(t)).is_coalesced(),
    lambda t: other_matrix(t) * matrix(t, t.ones(4).double()),
    lambda t: t.zeros(3, 3).to_sparse() * other_matrix(t),
    lambda t: other_matrix(t) * t.zeros(3, 3).to_sparse(),
    lambda t: matrix(t).coalesce() * t.eye(2).to_sparse(),
    lambda t: matrix(t).coalesce() * t.arange(9.0).view(3, 3),
    lambda t: t.arange(3.0) * matrix(t, t.ones(4).long()).coalesce(),
    lambda t: (matrix(t).coalesce() * t.ones(3, 1)).is_coalesced(),
    lambda t: t.mul(2, matrix(t)),
    lambda t: t.mul(matrix(t), other_matrix(t)),
    lambda t: t.mul(t.ones(3, 3), other_matrix(t)),
    lambda t: matrix(t).coalesce() + other_matrix(t),
    lambda t: matrix(t) + other_matrix(t),
    lambda t: matrix(t) + matrix(t).t(),
    lambda t: other_matrix(t) - matrix(t, t.ones(4, requires_grad=True)),
    lambda t: (matrix(t).coalesce() - other_matrix(t)).is_coalesced(),
    lambda t: (matrix(t) + other_matrix(t)).is_coalesced(),
    lambda t: matrix(t, t.ones(4).long()).coalesce() + other_matrix(t),
    lambda t: t.add(matrix(t).coalesce(), other_matrix(t), alpha=2),
    lambda t: t.sub(matrix(t), other_matrix(t), alpha=2),
    lambda t: t.add(matrix(t, t.ones(4).long()), matrix(t, t.ones(4).long()), alpha=0.5),
    lambda t: matrix(t).add(other_matrix(t)).sub(other_matrix(t), alpha=3),
    lambda t: matrix(t) + t.zeros(3, 3).to_sparse(),
    lambda t: t.zeros(3, 3).to_sparse() + other_matrix(t),
    lambda t: matrix(t) + t.zeros(2, 3).to_sparse(),
    lambda t: matrix(t) + 1,
    lambda t: abs(matrix(t, -t.ones(4))),
    lambda t: t.abs(matrix(t, -t.ones(4, requires_grad=True))),
    lambda t: matrix(t).coalesce().abs(),
    lambda t: matrix(t).sum(),
    lambda t: t.sum(matrix(t, t.ones(4, requires_grad=True))),
    lambda t: matrix(t).sum((0, 1), dtype=t.float64),
    lambda t: t.sparse.sum(matrix(t)),
    lambda t: t.sparse.sum(matrix(t, t.ones(4).long()), dtype=t.float64),
    lambda t: matrix(t) // 2,
    lambda t: t.floor_divide(matrix(t, t.ones(4).long() * 5), 2),
    lambda t: t.div(matrix(t), 2, rounding_mode="trunc"),
    lambda t: t.true_divide(matrix(t), 2),
    lambda t: matrix(t) // t.ones(3, 3),
    lambda t: t.ones(3, 3) / matrix(t),
    lambda t: 2 // matrix(t),
    lambda t: matrix(t) ** 2,
    lambda t: t.pow(matrix(t, t.ones(4).long() * 5), 2),
    lambda t: matrix(t) ** -0.5,
    lambda t: matrix(t) ** 0,
    lambda t: matrix(t, t.ones(4).long()) ** 0.5,
    lambda t: t.sparse_coo_tensor([[0], [1]], [1.0, 2.0], (2, 2)),
    lambda t: t.sparse_coo_tensor([[0], [2]], [1.0], (2, 2), check_invariants=True),
    lambda t: t.sparse_coo_tensor([[-1], [0]], [1.0], (2, 2), check_invariants=True),
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_gives_what_it_gives_in_torch(line: Line) -> None:
    assert outcome(line, minitorch) == outcome(line, torch)


def graph_convolution(lib: Any) -> tuple[Any, ...]:
    """Two layers: normalised adjacency · features · weights. The gradients of all that is learnt, and of the edges."""
    edges = lib.tensor([0.5, 0.25, 1.0, 0.75], requires_grad=True)
    features = lib.arange(6.0).reshape(3, 2).requires_grad_()
    weights = [lib.tensor(each, requires_grad=True) for each in ([[1.0, -2.0], [0.5, 1.0]], [[2.0], [1.0]])]
    adjacency = matrix(lib, edges)
    hidden = lib.sparse.mm(adjacency, features @ weights[0]).relu()
    loss = (lib.sparse.mm(adjacency, hidden @ weights[1]) ** 2).sum()
    loss.backward()
    return loss, edges.grad, features.grad, *(each.grad for each in weights)


def test_a_graph_convolution_learns_as_in_torch() -> None:
    for one, other in zip(graph_convolution(minitorch), graph_convolution(torch), strict=True):
        assert one.flatten().tolist() == pytest.approx(other.flatten().tolist())


@exactly_the_same
def test_gradients_reach_the_dense_matrix_that_it_was(lib: Any) -> Any:
    x = lib.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    (lib.sparse.mm(x.to_sparse(), lib.arange(4.0).reshape(2, 2)) ** 2).sum().backward()
    return x.grad.tolist()


@exactly_the_same
def test_gradients_go_to_both_of_a_dense_and_a_sparse_matrix(lib: Any) -> Any:
    dense, values = lib.ones(3, 3, requires_grad=True), lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    total = lib.add(dense, matrix(lib, values), alpha=2) - matrix(lib, values)
    (total * lib.arange(9.0).reshape(3, 3)).sum().backward()
    return dense.grad.tolist(), values.grad.tolist(), total.grad_fn.name()


@exactly_the_same
def test_gradients_of_products_and_powers_reach_the_values(lib: Any) -> Any:
    values, others = (lib.arange(1.0, 5.0).mul(sign).requires_grad_() for sign in (1, -1))
    one, two = matrix(lib, values).coalesce(), matrix(lib, others).t().coalesce()
    ((one * two).to_dense() + (one**2).to_dense()).sum().backward()
    return values.grad.tolist(), others.grad.tolist()


@exactly_the_same
def test_gradients_of_sums_and_sizes_reach_the_values(lib: Any) -> Any:
    values, others = (lib.arange(-1.0, 3.0).mul(sign).requires_grad_() for sign in (1, 2))
    one, two = matrix(lib, values), matrix(lib, others).t()
    weights = lib.arange(9.0).view(3, 3)
    both = (one.coalesce() + two.coalesce()).to_dense() * weights + (one - two).to_dense() * weights * weights
    (both.sum() + abs(one).to_dense().mul(weights).sum() + lib.sparse.sum(two)).backward()
    return values.grad.tolist(), others.grad.tolist()


def test_what_is_not_there_says_so() -> None:
    for line in (
        lambda: minitorch.sparse_coo_tensor([[0], [0], [0]], [1.0]),
        lambda: minitorch.sparse_coo_tensor([[0], [0]], [1.0], requires_grad=True),
        lambda: minitorch.ones(2, 2, 2).to_sparse(),
        lambda: minitorch.ones(2, 2).to_sparse(1),
        lambda: minitorch.sparse.mm(minitorch.ones(2, 2), minitorch.ones(2, 2)),
        lambda: 2 ** minitorch.eye(2).to_sparse(),
        lambda: minitorch.eye(2).to_sparse().sum(0),
        lambda: minitorch.sparse.sum(minitorch.eye(2).to_sparse(), 0),
    ):
        with pytest.raises(NotImplementedError):
            line()
