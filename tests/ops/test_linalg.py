"""Factorizations whose vectors have free signs: what is true of them with any signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd.gradcheck import gradcheck, gradgradcheck
from tests.same import errors, same, same_within

WEIGHTS = np.random.default_rng(1).uniform(-1, 1, (3, 3))


def matrices(*shape: int) -> Any:
    data = np.random.default_rng(0).uniform(-1, 1, shape) + np.diag([1.0, 2.0, 4.0])[: shape[-2], : shape[-1]]
    return minitorch.tensor(data.tolist(), dtype=minitorch.float64, requires_grad=True)


def symmetric(x: Any) -> Any:
    return x + x.mT


def weights(rows: int, columns: int) -> Any:
    return minitorch.tensor(WEIGHTS[:rows, :columns].tolist(), dtype=minitorch.float64)


@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 3), (2, 3, 3)])
@pytest.mark.parametrize("full", [True, False])
def test_svd_factorizes(shape: tuple[int, ...], full: bool) -> None:
    x = matrices(*shape)
    u, s, vh = minitorch.linalg.svd(x, full)
    k = min(shape[-2:])
    assert np.allclose((u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :]).tolist(), x.tolist())
    assert np.allclose((u.mT @ u).tolist(), np.eye(u.shape[-1]))
    assert np.allclose((vh @ vh.mT).tolist(), np.eye(vh.shape[-2]))
    assert (s.diff() <= 0).all() and (s >= 0).all()


@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 3)])
def test_derivatives_of_svd(shape: tuple[int, int]) -> None:
    """Of products in which signs cancel."""

    def function(x: Any) -> Any:
        u, s, vh = minitorch.linalg.svd(x, False)
        k = s.shape[-1]
        return (u * weights(1, k)) @ (vh * s.unsqueeze(-1)), (u * weights(1, k)) @ u.mT, vh.mT @ (vh * weights(k, 1))

    assert gradcheck(function, [matrices(*shape)])
    assert gradgradcheck(function, [matrices(*shape)])


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_factorizes(uplo: str) -> None:
    x = matrices(2, 3, 3)
    triangle = x.tril() if uplo == "L" else x.triu()
    values, vectors = minitorch.linalg.eigh(x, uplo)
    whole = triangle + (triangle - (x.diagonal(0, -2, -1)).diag_embed()).mT
    assert np.allclose((vectors * values.unsqueeze(-2) @ vectors.mT).tolist(), whole.tolist())
    assert np.allclose((vectors.mT @ vectors).tolist(), [np.eye(3)] * 2)
    assert (values.diff() >= 0).all()


def test_derivatives_of_eigh() -> None:
    """Of products in which signs cancel; of a symmetric matrix, as the gradient is meant."""

    def function(x: Any) -> Any:
        values, vectors = minitorch.linalg.eigh(symmetric(x))
        return values, (vectors * weights(1, 3)) @ vectors.mT

    assert gradcheck(function, [matrices(3, 3)])
    assert gradgradcheck(function, [matrices(3, 3)])


def test_derivatives_of_cholesky() -> None:
    """Of a symmetric matrix, as the gradient is meant."""

    def function(x: Any) -> Any:
        square = x @ x.mT
        return minitorch.linalg.cholesky(square), minitorch.linalg.cholesky(square, upper=True)

    assert gradcheck(function, [matrices(3, 3)])
    assert gradgradcheck(function, [matrices(3, 3)])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eig_diagonalizes(dtype: str) -> None:
    x = matrices(2, 3, 3).to(getattr(minitorch, dtype)).detach()
    values, vectors = minitorch.linalg.eig(x)
    assert values.dtype is vectors.dtype is minitorch.complex128
    assert np.allclose((x.to(vectors.dtype) @ vectors).tolist(), (vectors * values.unsqueeze(-2)).tolist())
    assert np.allclose(vectors.abs().square().sum(-2).tolist(), 1)


def test_derivatives_of_eig() -> None:
    """Of what doesn't depend on the vectors' phases."""

    def function(x: Any) -> Any:
        values, vectors = minitorch.linalg.eig(x)
        return values, vectors.abs(), (vectors * vectors.sum(-2, keepdim=True).conj()).real

    assert gradcheck(function, [matrices(3, 3)])
    assert gradgradcheck(function, [matrices(3, 3)])
    rotation = minitorch.tensor([[0.1, 1.0], [-1.0, 0.2]], dtype=minitorch.float64, requires_grad=True)
    assert gradcheck(function, [rotation])
    vectors = minitorch.linalg.eig(rotation).eigenvectors
    with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
        vectors[0, 0].imag.backward()


def test_older_names() -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    for some in (True, False):
        x = matrices(3, 2)
        q, r = minitorch.qr(x, some)
        assert np.allclose((q @ r).tolist(), x.tolist()) and q.shape == (3, 2 if some else 3)
        u, s, v = minitorch.svd(x, some)
        assert np.allclose((u[:, :2] * s @ v.mT).tolist(), x.tolist()) and u.shape == (3, 2 if some else 3)
    for name in ("qr", "svd"):
        theirs = getattr(torch, name)(torch.ones(2, 2))
        assert type(getattr(minitorch.ones(2, 2), name)()).__name__ == type(theirs).__name__
    zeros, values, _ = minitorch.svd(matrices(3, 2), compute_uv=False)
    assert zeros.tolist() == np.zeros((3, 3)).tolist()
    assert np.allclose(values.tolist(), minitorch.linalg.svdvals(matrices(3, 2)).tolist())


def test_factors_of_singular_matrices() -> None:
    """Where the factorization fails is said in `info`, also in a batch; the other matrices are unharmed."""
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    data = [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, 1.0]]]
    ours, theirs = minitorch.tensor(data), torch.tensor(data)
    for name in ("inv_ex", "cholesky_ex", "lu_factor_ex"):
        one, other = getattr(torch.linalg, name)(theirs), getattr(minitorch.linalg, name)(ours)
        assert other.info.tolist() == one.info.tolist() and other.info.dtype is minitorch.int32
        assert np.allclose(other[0][0].tolist(), one[0][0].tolist())
    one, other = torch.linalg.solve_ex(theirs, theirs), minitorch.linalg.solve_ex(ours, ours)
    assert other.info.tolist() == one.info.tolist()
    assert np.allclose(other.result[0].tolist(), one.result[0].tolist(), atol=1e-6)


@pytest.mark.parametrize("kind", ["float32", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
@same
def test_what_cholesky_leaves_of_an_indefinite_matrix(torch: Any, kind: str, upper: bool) -> Any:
    """The columns before the one that fails, its pivot, and the rest of the one triangle that is read."""
    data = [
        [[4.0, 2.0, 1.0], [2.0, -3.0, 5.0], [1.0, 5.0, 7.0]],
        [[4.0, 2.0, 1.0], [2.0, 3.0, 5.0], [1.0, 5.0, 7.0]],
        [[4.0, 2.0, 1.0], [7.0, 9.0, 5.0], [8.0, 6.0, 70.0]],
        [[0.0, 2.0, 1.0], [2.0, 3.0, 5.0], [1.0, 5.0, 7.0]],
    ]
    factor, info = torch.linalg.cholesky_ex(torch.tensor(data, dtype=getattr(torch, kind)), upper=upper)
    return [torch.view_as_real(factor) if factor.is_complex() else factor, info]


@pytest.mark.parametrize("shape", [(100, 100), (40, 90), (90, 40), (3, 70, 70), (2, 33, 80), (33, 1, 50)])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("singular", [False, True])
@same_within(1e-9)
def test_factors_of_large_matrices(torch: Any, shape: tuple[int, ...], kind: str, singular: bool) -> Any:
    """Wide matrices are factored in halves: the same rows are swapped, and at the same column there is no pivot."""
    data = np.random.default_rng(0).standard_normal((*shape, 2))
    matrices = data.view("complex128")[..., 0] if kind == "complex128" else data[..., 0]
    if singular:
        matrices[..., 38] = 0
    return torch.linalg.lu_factor_ex(torch.from_numpy(matrices))


@pytest.mark.parametrize("size", [5, 40, 90])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
@same_within(1e-9)
def test_blocks_of_indefinite_matrices(torch: Any, size: int, hermitian: bool, kind: str) -> Any:
    """The same rows are swapped, for the same blocks of one and two rows."""
    data = np.random.default_rng(0).standard_normal((size, size, 2))
    matrix = torch.from_numpy(data.view("complex128")[..., 0] if kind == "complex128" else data[..., 0])
    matrix.fill_diagonal_(0.1)
    LD, pivots = torch.linalg.ldl_factor(matrix, hermitian=hermitian)
    return LD, pivots, torch.linalg.ldl_solve(LD, pivots, torch.ones_like(matrix[:, :2]), hermitian=hermitian)


@pytest.mark.parametrize("name", ["svd", "eigh"])
@same
def test_errors(torch: Any, name: str) -> Any:
    function = getattr(torch.linalg, name)
    return errors(lambda: function(torch.ones(2)), lambda: function(torch.ones(2, 2, dtype=torch.int64)))


@same_within(1e-9)
def test_derivatives_of_a_singular_matrix_s_determinant_are_torchs(torch: Any) -> Any:
    """Zeros, and where they are to be differentiated again the minors, whose own derivatives are right too."""
    singular, regular, zero = [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]
    x = torch.tensor([singular, regular, zero], dtype=torch.float64, requires_grad=True)
    (once,) = torch.autograd.grad(torch.linalg.det(x[:2]).sum(), x)
    (again,) = torch.autograd.grad(torch.linalg.det(x).sum(), x, create_graph=True)
    (twice,) = torch.autograd.grad(again[:2].sum(), x)
    return once, again, twice[:2]


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (0, 3)])
@same_within(5e-5)
def test_full_singular_vectors_have_gradients_where_there_are_singular_values(
    torch: Any, shape: tuple[int, int]
) -> Any:
    x = torch.arange(float(shape[0] * shape[1])).cos().reshape(shape).requires_grad_()
    u, s, vh = torch.linalg.svd(x, full_matrices=True)
    k = min(shape)
    return torch.autograd.grad((u[:, :k].abs() * s).sum() + vh[:k].abs().exp().sum(), x)


@pytest.mark.parametrize("name", ["vecdot", "cross"])
@same
def test_products_of_vectors_of_two_types(torch: Any, name: str) -> Any:
    function = getattr(torch.linalg, name)
    kinds = torch.float32, torch.float64, torch.float16, torch.complex64, torch.int64, torch.bool
    return errors(
        *(
            lambda x=x, y=y: function(torch.ones(2, 3).to(x), torch.ones(2, 3).to(y)).dtype.itemsize
            for x in kinds
            for y in kinds
        )
    )


@same
def test_which_triangle_has_no_default(torch: Any) -> Any:
    x = torch.eye(2)
    return errors(
        lambda: torch.linalg.solve_triangular(x, x),
        lambda: torch.linalg.solve_triangular(x, x, left=False),
        lambda: torch.linalg.solve_triangular(x, x, upper=None),
    )
