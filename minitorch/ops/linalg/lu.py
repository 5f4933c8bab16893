"""LU factors, and what is solved with them; each works on batches (…, n, m).

Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.declaration import OPS, composite, declare
from minitorch.kernels.elimination import eliminated, permutation
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.common import (
    adjoint,
    by_columns,
    check_completed,
    check_float,
    check_same_type,
    check_square,
)
from minitorch.ops.linalg.solve import solve_triangular
from minitorch.ops.naming import called
from minitorch.ops.nn.padding import constant_pad
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once


def _lu_gradient(of_L: Tensor, of_U: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """The gradient of P L U in the matrix, from those in L and U: both square, or one of them with a rest."""
    rows, columns = L.shape[-2], U.shape[-1]
    size = min(rows, columns)
    top, left = L[..., :size, :], U[..., :size]
    if rows == columns:
        middle = (adjoint(L) @ of_L).tril(-1) + (of_U @ adjoint(U)).triu()
        middle = solve_triangular(adjoint(U), middle, upper=False, left=False)
        return P @ solve_triangular(adjoint(L), middle, upper=True, unitriangular=True)
    if rows < columns:
        lower = (adjoint(L) @ of_L - of_U.triu() @ adjoint(U)).tril(-1)
        lower = solve_triangular(adjoint(left), lower, upper=False, left=False)
        middle = cat([lower + of_U[..., :size].triu(), of_U[..., size:]], -1)
        return P @ solve_triangular(adjoint(L), middle, upper=True, unitriangular=True)
    upper = (of_U @ adjoint(U) - adjoint(L) @ of_L.tril(-1)).triu()
    upper = solve_triangular(adjoint(top), upper, upper=True, unitriangular=True)
    middle = cat([upper + of_L[..., :size, :].tril(-1), of_L[..., size:, :]], -2)
    return P @ solve_triangular(adjoint(U), middle, upper=False, left=False)


def _factor_gradient(grads: Any, result0: Tensor, result1: Tensor) -> Tensor:
    P, L, U = (each.detach() if i == 0 else each for i, each in enumerate(lu_unpack(result0, result1)))
    size = min(result0.shape[-2:])
    return _lu_gradient(grads[0][..., :size].tril(-1), grads[0][..., :size, :].triu(), P, L, U)


def _check_factors(name: str, A: Array, pivot: bool) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_float(name, A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


_SINGULAR = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


@declare(
    keyword_only="pivot",
    variants="function out",
    namespace="linalg",
    outputs=return_types.linalg_lu_factor_ex,
    derivatives={"A": _factor_gradient},
)
def lu_factor_ex(xp: Any, A: Array, pivot: bool = True, check_errors: bool = False) -> tuple[Array, Array, Array]:
    """L and U of P L U = A in one matrix, the rows swapped (from one), and the first column without a pivot, or 0."""
    _check_factors("torch.lu_factor", A, pivot)
    lu, pivots, info = eliminated(xp, A)
    if check_errors:
        check_completed("torch.linalg.lu_factor_ex", _SINGULAR, info, RuntimeError)
    return by_columns(xp, lu), pivots, info


@composite(variants="function out", namespace="linalg")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """`lu_factor_ex` that raises RuntimeError for a singular matrix."""
    lu, pivots, info = lu_factor_ex(A, pivot=pivot)
    check_completed("torch.linalg.lu_factor", _SINGULAR, info, RuntimeError)
    return return_types.linalg_lu_factor(lu, pivots)


@declare(
    variants="",
    node="LinalgLuBackward0",
    derivatives={
        "A": lambda grads, result0, result1, result2: _lu_gradient(
            result0.new_zeros(result0.shape) if grads[0] is None else grads[0],
            result1.new_zeros(result1.shape) if grads[1] is None else grads[1],
            permutation_of(result2, result0.shape[-2], result0.detach()),
            result0,
            result1,
        )
    },
)
def lu_factors(xp: Any, A: Array, pivot: bool) -> tuple[Array, Array, Array]:
    _check_factors("linalg.lu", A, pivot)
    factors, pivots, _ = eliminated(xp, A)
    rows, columns = A.shape[-2:]
    size = min(rows, columns)
    lower = xp.tril(factors[..., :size], -1) + xp.eye(rows, size, dtype=A.dtype)
    return lower, xp.triu(factors[..., :size, :]), pivots


@declare(row_major=True, variants="")
def permutation_of(xp: Any, pivots: Array, rows: int, like: Array) -> Array:
    return permutation(xp, pivots, rows).astype(like.dtype)


@composite(variants="function out", namespace="linalg")
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """A permutation, a lower triangular matrix with ones on the diagonal, and an upper one, with P L U = A."""
    L, U, pivots = lu_factors(A, pivot)
    return return_types.linalg_lu(permutation_of(pivots, A.shape[-2], L.detach()), L, U)


def _unpacked_gradient(grads: Any, LU_data_shape: Any) -> Tensor:
    rows, columns = LU_data_shape[-2:]
    batch = ((0, 0),) * (len(LU_data_shape) - 2)
    parts = []
    if grads[0] is not None:
        parts.append(constant_pad(grads[0].tril(-1), (*batch, (0, 0), (0, columns - grads[0].shape[-1])), 0))
    if grads[1] is not None:
        parts.append(constant_pad(grads[1].triu(), (*batch, (0, rows - grads[1].shape[-2]), (0, 0)), 0))
    return sum(parts[1:], parts[0])


@declare(row_major=True, variants="", node="LuUnpackBackward0", derivatives={"LU_data": _unpacked_gradient})
def unpacked(xp: Any, LU_data: Array) -> tuple[Array, Array]:
    """L, with ones on the diagonal, and U."""
    rows, columns = LU_data.shape[-2:]
    size = min(rows, columns)
    return xp.tril(LU_data[..., :size], -1) + xp.eye(rows, size, dtype=LU_data.dtype), xp.triu(LU_data[..., :size, :])


@composite(variants="function out")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P (…, m, m), L (…, m, k) and U (…, k, n) of `lu_factor`'s results, k = min(m, n).

    What isn't asked for is empty.
    """
    P = permutation_of(LU_pivots, LU_data.shape[-2], LU_data.detach()) if unpack_pivots else LU_data.new_empty(0)
    if not unpack_data:
        return return_types.lu_unpack(P, *[LU_data.reshape(-1)[:0] for _ in range(2)])
    return return_types.lu_unpack(P, *unpacked(LU_data))


def _lu_solve_gradient(grad: Tensor, LU: Tensor, pivots: Tensor, result: Tensor, left: bool, adjoint: bool) -> Tensor:
    P, L, U = lu_unpack(LU, pivots)
    if left is not adjoint:
        product = -(grad @ result.mH if left else grad.mH @ result)
        of_U = solve_triangular(U.mH, product, upper=False)
        of_L = solve_triangular(L.mH, of_U @ U.mH, upper=True, unitriangular=True)
        return of_L.tril(-1) + of_U.triu()
    product = -P.mT @ (result @ grad.mH if left else result.mH @ grad) @ P
    of_L = solve_triangular(L.mH, product, upper=True, left=False, unitriangular=True)
    of_U = solve_triangular(U.mH, L.mH @ of_L, upper=False, left=False)
    return of_L.tril(-1) + of_U.triu()


@declare(
    keyword_only="left",
    variants="function out",
    namespace="linalg",
    derivatives={
        "LU": _lu_solve_gradient,
        "B": lambda grad, LU, pivots, left, adjoint: (
            lu_solve(LU, pivots, grad, adjoint=not adjoint)
            if left
            else lu_solve(LU, pivots, grad.mH, adjoint=adjoint).mH
        ),
    },
)
def lu_solve(xp: Any, LU: Array, pivots: Array, B: Array, left: bool = True, adjoint: bool = False) -> Array:
    """The X with A X = B (X A = B unless `left`, and Aᴴ for A with `adjoint`) for the A that was factored.

    Factors (…, n, n), int32 pivots (…, n) and B (…, n, k) → (…, n, k).
    """
    check_float("torch.linalg.lu_solve", LU, two_bytes=True)
    check_same_type("linalg.lu_solve: ", "LU", LU, "B", B)
    check_square("torch.linalg.lu_solve", LU)
    if not left:  # the adjoint equation has the matrix on the left
        turned = OPS["lu_solve"].kernel(xp, LU, pivots, B.swapaxes(-1, -2).conj(), True, not adjoint)
        return turned.swapaxes(-1, -2).conj()
    P = permutation(xp, pivots, LU.shape[-1]).astype(LU.dtype)
    lower, upper = xp.tril(LU, -1) + xp.eye(LU.shape[-1], dtype=LU.dtype), xp.triu(LU)
    if adjoint:
        lower, upper = (each.swapaxes(-1, -2).conj() for each in (lower, upper))
        return by_columns(xp, P @ xp.linalg.solve(lower, xp.linalg.solve(upper, B)))
    return by_columns(xp, xp.linalg.solve(upper, xp.linalg.solve(lower, P.swapaxes(-1, -2) @ B)))


@composite(autocast="float32", variants="function method out")
@called("lu_solve")
def torch_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """`linalg.lu_solve` with the right side first: (…, n, k), factors (…, n, n), pivots (…, n) → (…, n, k)."""
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release."
        "\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
        "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return lu_solve(LU_data, LU_pivots, input)
