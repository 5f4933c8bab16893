"""LU and Cholesky factors, and what is solved with them; each works on batches (…, n, m).

The functions named `_ex` don't raise where a matrix is singular or not positive definite: `info` says where it fails.
Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch import return_types
from minitorch.backend import Array
from minitorch.ops.declaration import OPS, composite, declare
from minitorch.ops.joining import cat
from minitorch.ops.linalg import (
    _cholesky_gradient,
    _LinAlgError,
    _not_positive,
    _solve_gradients,
    adjoint,
    by_columns,
    check_float,
    check_square,
    failing_minor,
    solve_triangular,
)
from minitorch.ops.padding import constant_pad
from minitorch.tensor import Tensor

_PANEL = 32
"""Columns that are eliminated one by one; more of them in halves, so that most of the work is products of matrices."""


def _eliminated(xp: Any, A: Array) -> tuple[Array, Array, Array]:
    """Gaussian elimination with partial pivoting: L below and U above the diagonal, the row that each step swapped in,
    and the number, from one, of the first column without a pivot, or zero."""
    rows, columns = A.shape[-2:]
    steps = min(rows, columns)
    lu = xp.array(A, order="C").reshape(math.prod(A.shape[:-2]), rows, columns)
    pivots = xp.zeros((len(lu), steps), "int32")
    _eliminate(xp, lu, pivots)
    empty = xp.diagonal(lu, axis1=1, axis2=2) == 0
    info = xp.where(empty.any(1), empty.argmax(1) + 1, 0) if steps else xp.zeros(len(lu))
    batch = A.shape[:-2]
    return lu.reshape(A.shape), (pivots + 1).reshape(*batch, steps), info.reshape(batch).astype("int32")


def _eliminate(xp: Any, A: Array, pivots: Array) -> Array:
    """Turns (batch, rows, columns) into L and U in place, fills in the rows swapped, and returns the order of the rows.

    Toledo 1997, "Locality of reference in LU decomposition with partial pivoting", doi:10.1137/S0895479896297744
    """
    rows, columns = A.shape[1:]
    if columns <= _PANEL or rows <= 1:
        return _eliminate_columns(xp, A, pivots)
    half = min(columns // 2, rows)
    left, right = A[:, :, :half], A[:, :, half:]
    order = _eliminate(xp, left, pivots[:, :half])
    right[...] = _ordered(xp, right, order)
    _substitute(xp, left[:, :half], right[:, :half])
    if half < rows:
        right[:, half:] -= left[:, half:] @ right[:, :half]
        later = half + _eliminate(xp, right[:, half:], pivots[:, half:])
        pivots[:, half:] += half
        left[:, half:] = _ordered(xp, left, later)
        order[:, half:] = _ordered(xp, order, later)
    return order


def _ordered(xp: Any, rows: Array, order: Array) -> Array:
    return rows[xp.arange(len(order))[:, None], order]


def _eliminate_columns(xp: Any, A: Array, pivots: Array) -> Array:
    count, rows, columns = A.shape
    turned = A.swapaxes(1, 2).copy()  # a column's elements are neighbours
    order = xp.tile(xp.arange(rows), (count, 1))
    for k in range(min(rows, columns)):
        column = turned[:, k, k:]
        chosen = k + (abs(column.real) + abs(column.imag)).argmax(1)  # as LAPACK measures complex numbers
        pivots[:, k] = chosen
        _swap(xp, order[:, None], k, chosen)
        _swap(xp, turned, k, chosen)
        pivot = turned[:, k, k, None]
        turned[:, k, k + 1 :] /= pivot + (pivot == 0)
        turned[:, k + 1 :, k + 1 :] -= turned[:, k + 1 :, k, None] * turned[:, k, None, k + 1 :]
    A[...] = turned.swapaxes(1, 2)
    return order


def _swap(xp: Any, array: Array, k: int, chosen: Array) -> None:
    """Exchanges the columns k and `chosen` of each matrix."""
    batch, place = (0, int(chosen[0])) if len(chosen) == 1 else (xp.arange(len(chosen)), chosen)
    above = array[:, :, k].copy()
    array[:, :, k] = array[batch, :, place]
    array[batch, :, place] = above


def _substitute(xp: Any, lower: Array, right: Array) -> None:
    """Solves for what the triangle below `lower`'s diagonal, with ones on it, times X makes `right`, in place."""
    size = lower.shape[-1]
    if size <= _PANEL:
        right[...] = xp.linalg.inv(xp.tril(lower, -1) + xp.eye(size, dtype=lower.dtype)) @ right
        return
    half = size // 2
    _substitute(xp, lower[:, :half, :half], right[:, :half])
    right[:, half:] -= lower[:, half:, :half] @ right[:, :half]
    _substitute(xp, lower[:, half:, half:], right[:, half:])


def _permutation(xp: Any, pivots: Array, rows: int) -> Array:
    """The matrices P of swaps, with A = P L U."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = xp.tile(xp.arange(rows), (len(flat), 1))
    for k in range(flat.shape[1]):
        _swap(xp, order[:, None], k, flat[:, k] - 1)
    return xp.ascontiguousarray(xp.swapaxes(xp.eye(rows)[order], -1, -2)).reshape(*pivots.shape[:-1], rows, rows)


def _lu_gradient(of_L: Tensor, of_U: Tensor, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """The gradient of P L U in the matrix, from those in L and U: both square, or one of them with a rest."""
    rows, columns = L.shape[-2], U.shape[-1]
    size = min(rows, columns)
    top, left = L[..., :size, :], U[..., :size]
    lower, upper = adjoint(top) @ of_L[..., :size, :], of_U[..., :size] @ adjoint(left)
    if rows < columns:
        lower = lower - of_U[..., size:] @ adjoint(U[..., size:])
    if rows > columns:
        upper = upper - adjoint(L[..., size:, :]) @ of_L[..., size:, :]
    middle = solve_triangular(adjoint(left), lower.tril(-1) + upper.triu(), upper=False, left=False)
    if rows < columns:
        middle = cat([middle, of_U[..., size:]], -1)
    result = solve_triangular(adjoint(top), middle, upper=True, unitriangular=True)
    if rows > columns:
        below = solve_triangular(adjoint(left), of_L[..., size:, :], upper=False, left=False)
        result = cat([result, below], -2)
    return P @ result


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


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgLuFactorExBackward0",
    outputs=return_types.linalg_lu_factor_ex,
    derivatives={"A": _factor_gradient},
)
def lu_factor_ex(xp: Any, A: Array, *, pivot: bool = True, check_errors: bool = False) -> tuple[Array, Array, Array]:
    """L and U of P L U = A in one matrix, the rows swapped (from one), and the first column without a pivot, or 0.

    https://pytorch.org/docs/stable/generated/torch.linalg.lu_factor_ex.html
    """
    _check_factors("torch.lu_factor", A, pivot)
    lu, pivots, info = _eliminated(xp, A)
    if check_errors and info.any():
        number = int(info[info > 0].reshape(-1)[0])
        raise RuntimeError(
            f"torch.linalg.lu_factor: U[{number},{number}] is zero and using it on lu_solve would result in a division "
            "by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return by_columns(xp, lu), pivots, info


@composite(variants="function out", namespace="linalg")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """`lu_factor_ex` that raises RuntimeError for a singular matrix.

    https://pytorch.org/docs/stable/generated/torch.linalg.lu_factor.html
    """
    return return_types.linalg_lu_factor(*lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


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
    factors, pivots, _ = _eliminated(xp, A)
    rows, columns = A.shape[-2:]
    size = min(rows, columns)
    lower = xp.tril(factors[..., :size], -1) + xp.eye(rows, size, dtype=A.dtype)
    return lower, xp.triu(factors[..., :size, :]), pivots


@declare(row_major=True, variants="")
def permutation_of(xp: Any, pivots: Array, rows: int, like: Array) -> Array:
    return _permutation(xp, pivots, rows).astype(like.dtype)


@composite(variants="function out", namespace="linalg")
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """A permutation, a lower triangular matrix with ones on the diagonal, and an upper one, with P L U = A.

    https://pytorch.org/docs/stable/generated/torch.linalg.lu.html
    """
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
    gradient: Tensor = sum(parts[1:], parts[0])
    return gradient


@declare(row_major=True, variants="", node="LuUnpackBackward0", derivatives={"LU_data": _unpacked_gradient})
def unpacked(xp: Any, LU_data: Array) -> tuple[Array, Array]:
    """L, with ones on the diagonal, and U."""
    rows, columns = LU_data.shape[-2:]
    size = min(rows, columns)
    return xp.tril(LU_data[..., :size], -1) + xp.eye(rows, size, dtype=LU_data.dtype), xp.triu(LU_data[..., :size, :])


@composite(variants="function out")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of `lu_factor`'s results; what isn't asked for is empty.

    https://pytorch.org/docs/stable/generated/torch.lu_unpack.html
    """
    P = permutation_of(LU_pivots, LU_data.shape[-2], LU_data.detach()) if unpack_pivots else LU_data.new_empty(0)
    if not unpack_data:
        return return_types.lu_unpack(P, *[LU_data.reshape(-1)[:0] for _ in range(2)])
    return return_types.lu_unpack(P, *unpacked(LU_data))


def _lu_solve_gradient(grad: Tensor, LU: Tensor, pivots: Tensor, result: Tensor, left: bool, adjoint: bool) -> Tensor:
    of_B = lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    of_matrix = -(of_B @ result.mH if left else result.mH @ of_B)
    P, L, U = lu_unpack(LU, pivots)
    of_product = P.mT @ (of_matrix.mH if adjoint else of_matrix)
    return (of_product @ U.mH).tril(-1) + (L.mH @ of_product).triu()


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgLuSolveBackward0",
    derivatives={
        "LU": _lu_solve_gradient,
        "B": lambda grad, LU, pivots, left, adjoint: (
            lu_solve(LU, pivots, grad, adjoint=not adjoint)
            if left
            else lu_solve(LU, pivots, grad.mH, adjoint=adjoint).mH
        ),
    },
)
def lu_solve(xp: Any, LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False) -> Array:
    """The X with A X = B (X A = B unless `left`, and Aᴴ for A with `adjoint`) for the A that was factored.

    https://pytorch.org/docs/stable/generated/torch.linalg.lu_solve.html
    """
    check_square("torch.linalg.lu_solve", LU)
    if not left:  # the adjoint equation has the matrix on the left
        turned = OPS["lu_solve"].kernel(xp, LU, pivots, B.swapaxes(-1, -2).conj(), True, not adjoint)
        return turned.swapaxes(-1, -2).conj()
    P = _permutation(xp, pivots, LU.shape[-1]).astype(LU.dtype)
    lower, upper = xp.tril(LU, -1) + xp.eye(LU.shape[-1], dtype=LU.dtype), xp.triu(LU)
    if adjoint:
        lower, upper = (each.swapaxes(-1, -2).conj() for each in (lower, upper))
        return by_columns(xp, P @ xp.linalg.solve(lower, xp.linalg.solve(upper, B)))
    return by_columns(xp, xp.linalg.solve(upper, xp.linalg.solve(lower, P.swapaxes(-1, -2) @ B)))


def _lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """`linalg.lu_solve` with the right side first. https://pytorch.org/docs/stable/generated/torch.lu_solve.html"""
    return lu_solve(LU_data, LU_pivots, input)


_lu_solve.__name__ = _lu_solve.__qualname__ = "lu_solve"
composite(variants="function method out")(_lu_solve)


def _solved(xp: Any, A: Array, solution: Callable[[Array], Array]) -> tuple[Array, Array]:
    """What `solution` makes of the matrices, NaN for the singular ones, and their first pivots that are zero, or 0."""
    try:
        return solution(A), xp.zeros(A.shape[:-2], "int32")
    except (xp.linalg.LinAlgError, _LinAlgError):
        info = _eliminated(xp, A)[2]
        failed = (info > 0)[..., None, None]
        result = solution(xp.where(failed, xp.eye(A.shape[-1], dtype=A.dtype), A))
        failed = failed.reshape(failed.shape[: A.ndim - 2] + (1,) * (result.ndim - A.ndim + 2))
        return xp.where(failed, xp.asarray(xp.nan, A.dtype), result), info


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgInvExBackward0",
    outputs=return_types.linalg_inv_ex,
    derivatives={"A": lambda grads, result0: -(adjoint(result0) @ grads[0] @ adjoint(result0))},
)
def inv_ex(xp: Any, A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    """A⁻¹, NaN where A is singular, and the first pivot that is zero, or 0.

    https://pytorch.org/docs/stable/generated/torch.linalg.inv_ex.html
    """
    check_square("linalg.inv", A)
    check_float("linalg.inv", A)
    inverse, info = _solved(xp, A, lambda matrices: by_columns(xp, xp.linalg.inv(matrices)))
    if check_errors and info.any():
        raise _LinAlgError(
            f"linalg.inv_ex: The diagonal element {int(info[info > 0].reshape(-1)[0])} is zero, the inversion could "
            "not be completed because the input matrix is singular."
        )
    return inverse, info


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgSolveExBackward0",
    outputs=return_types.linalg_solve_ex,
    derivatives={
        "A, B": lambda grads, A, result0, left: _solve_gradients(grads[0], A, result0, left),
    },
)
def solve_ex(xp: Any, A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> tuple[Array, Array]:
    """The X with A X = B, NaN where A is singular, and the first pivot that is zero, or 0.

    https://pytorch.org/docs/stable/generated/torch.linalg.solve_ex.html
    """
    check_square("linalg.solve", A)
    check_float("linalg.solve", A)
    result, info = _solved(xp, A, lambda matrices: OPS["solve"].kernel(xp, matrices, B, left))
    if check_errors and info.any():
        raise _LinAlgError("torch.linalg.solve_ex: The solver failed because the input matrix is singular.")
    return result, info


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgCholeskyExBackward0",
    outputs=return_types.linalg_cholesky_ex,
    derivatives={"A": lambda grads, result0, upper: _cholesky_gradient(grads[0], result0, upper)},
)
def cholesky_ex(xp: Any, A: Array, *, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    """The Cholesky factor, NaN where A isn't positive definite, and the order of the first minor that isn't, or 0.

    https://pytorch.org/docs/stable/generated/torch.linalg.cholesky_ex.html
    """
    check_square("linalg.cholesky", A)
    check_float("linalg.cholesky", A)
    lower, info = xp.zeros_like(A, order="C"), xp.zeros(A.shape[:-2], "int32")
    for place in xp.ndindex(*A.shape[:-2]):
        try:
            lower[place] = xp.linalg.cholesky(A[place])
        except xp.linalg.LinAlgError:
            lower[place], info[place] = xp.nan, failing_minor(xp, A[place])
    if check_errors and info.any():
        raise _LinAlgError(str(_not_positive(xp, A)).replace("linalg.cholesky", "linalg.cholesky_ex"))
    return by_columns(xp, lower.swapaxes(-1, -2).conj() if upper else lower), info
