"""Inverses, solutions of linear systems and Cholesky factors; each works on batches (…, n, m).

The functions named `_ex` don't raise where a matrix is singular or not positive definite: `info` says where it fails.
Their derivatives are those of Giles (2008), *An extended collection of matrix derivative results*.
Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.apply import function_of
from minitorch.dispatch.declaration import METHODS, NAMESPACES, OPS, composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.op import CASTS
from minitorch.kernels.elimination import eliminated
from minitorch.ops.linalg.common import (
    NOT_INVERTIBLE,
    NOT_POSITIVE,
    SINGULAR,
    adjoint,
    by_columns,
    check_completed,
    check_same_type,
    check_square,
    check_square_float,
    linalg,
)
from minitorch.ops.naming import called
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once


def _solved(xp: Any, A: Array, solution: Callable[[Array], Array]) -> tuple[Array, Array]:
    """What `solution` makes of the matrices, NaN for the singular ones, and their first pivots that are zero, or 0."""
    try:
        return solution(A), xp.zeros(A.shape[:-2], "int32")
    except xp.linalg.LinAlgError:
        info = eliminated(xp, A)[2]
        failed = (info > 0)[..., None, None]
        result = solution(xp.where(failed, xp.eye(A.shape[-1], dtype=A.dtype), A))
        failed = failed.reshape(failed.shape[: A.ndim - 2] + (1,) * (result.ndim - A.ndim + 2))
        return xp.where(failed, xp.asarray(xp.nan, A.dtype), result), info


@linalg(
    keyword_only="check_errors",
    outputs=return_types.linalg_inv_ex,
    derivatives={"A": lambda grads, result0: -(adjoint(result0) @ (grads[0] @ adjoint(result0)))},
)
def inv_ex(xp: Any, A: Array, check_errors: bool = False) -> tuple[Array, Array]:
    """A⁻¹ (…, n, n), NaN where A is singular, and the first pivot that is zero, or 0, int32 (…)."""
    check_square_float("linalg.inv", A)
    inverse, info = _solved(xp, A, lambda matrices: by_columns(xp, xp.linalg.inv(matrices)))
    if check_errors:
        check_completed("linalg.inv_ex", NOT_INVERTIBLE, info)
    return inverse, info


@composite(autocast="float32", variants="function out", namespace="linalg")
def inv(A: Tensor) -> Tensor:
    """A⁻¹. Raises LinAlgError for a singular matrix."""
    inverse, info = inv_ex(A)
    check_completed("linalg.inv", NOT_INVERTIBLE, info)
    return inverse


NAMESPACES["torch"]["inverse"] = METHODS["inverse"] = inv


def _is_vector(A: Any, B: Any) -> bool:
    """Whether B is a vector, or a batch of vectors, rather than of matrices."""
    return len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and A.shape[:-1] == B.shape)


def _check_solvable(name: str, A: Any, B: Any, left: bool) -> None:
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def _solve_gradients(grad: Tensor, A: Tensor, result: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    if not left:
        of_a, of_b = _solve_gradients(_turned(grad), _turned(A), _turned(result), True)
        return _turned(of_a), _turned(of_b)
    of_b = solve(adjoint(A), grad)
    if _is_vector(A, result):
        return -(of_b.unsqueeze(-1) @ adjoint(result.unsqueeze(-1))), of_b
    return -(of_b @ adjoint(result)), of_b


def _turned(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


def _solution(xp: Any, A: Array, B: Array, left: bool) -> Array:
    """The X of A X = B, or of X A = B."""
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    if left:
        result = by_columns(xp, xp.linalg.solve(A, right))
    else:
        turned = xp.linalg.solve(A.swapaxes(-1, -2), right.swapaxes(-1, -2))
        result = by_columns(xp, turned).swapaxes(-1, -2)
    if vector:
        return by_columns(xp, result[..., 0]) if result.ndim > 2 else result[..., 0]
    return result


@declare(
    keyword_only="left",
    variants="function out",
    namespace="linalg",
    outputs=return_types.linalg_solve_ex,
    derivatives={"A, B": lambda grads, A, result0, left: _solve_gradients(grads[0], A, result0, left)},
)
def solve_ex(xp: Any, A: Array, B: Array, left: bool = True, check_errors: bool = False) -> tuple[Array, Array]:
    """The X with A X = B, NaN where A is singular, and the first pivot that is zero, or 0.

    (…, n, n), (…, n, k) → (…, n, k), and int32 (…).
    """
    check_square_float("linalg.solve", A)
    check_same_type("linalg.solve: ", "A", A, "B", B)
    vector = _is_vector(A, B)
    _check_solvable("linalg.solve", A, B[..., None] if vector else B, left)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    result, info = _solved(xp, A, lambda matrices: _solution(xp, matrices, B, left))
    if check_errors:
        check_completed("torch.linalg.solve_ex", SINGULAR, info)
    return result, info


@composite(autocast="float32", variants="function out", namespace="linalg")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X of A X = B, or of X A = B. Raises LinAlgError for a singular matrix."""
    result, info = solve_ex(A, B, left=left)
    check_completed("torch.linalg.solve", SINGULAR, info)
    return result


def _triangle_of(x: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    diagonal = 1 if unitriangular else 0
    return x.triu(diagonal) if upper else x.tril(-diagonal)


def _solve_triangular_gradients(
    grad: Tensor, self: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool
) -> tuple[Tensor, Tensor]:
    of_b = solve_triangular(adjoint(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    of_a = -(of_b @ adjoint(result) if left else adjoint(result) @ of_b)
    return _triangle_of(of_a, upper, unitriangular), of_b


@declare(
    keyword_only="upper",
    variants="function out",
    namespace="linalg",
    derivatives={"self, B": _solve_triangular_gradients},
)
def solve_triangular(
    xp: Any, self: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The X of A X = B, or with `left=False` X A = B, for a triangular A: (…, n, n), (…, n, k) → (…, n, k).

    Only that triangle is read. B is cast to the matrix's type. Raises RuntimeError for other sizes, NotImplementedError
    for two-byte floats.
    """
    check_square("linalg.solve_triangular", self)
    if B.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _check_solvable("linalg.solve_triangular", self, B, left)
    if self.dtype.itemsize == 2:
        raise not_implemented("triangular_solve_cpu", self.dtype.name)
    B = B.astype(self.dtype, copy=False)
    triangle = xp.triu(self, int(unitriangular)) if upper else xp.tril(self, -int(unitriangular))
    if unitriangular:
        triangle += xp.eye(self.shape[-1], dtype=self.dtype)
    right = B[(None,) * (self.ndim - B.ndim)]  # lest B is taken for a batch of vectors
    return by_columns(xp, _solution(xp, triangle, right, left))


def _cholesky_gradient(grad: Tensor, result: Tensor, upper: bool) -> Tensor:
    if upper:
        grad, result = adjoint(grad), adjoint(result)
    middle = (adjoint(result) @ grad).tril()
    middle = (middle + adjoint(middle.tril(-1))) * 0.5
    return solve_triangular(result, solve_triangular(adjoint(result), middle, upper=True), upper=False, left=False)


@linalg(
    keyword_only="upper",
    outputs=return_types.linalg_cholesky_ex,
    derivatives={"A": lambda grads, result0, upper: _cholesky_gradient(grads[0], result0, upper)},
)
def cholesky_ex(xp: Any, A: Array, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    """The Cholesky factor, and the order of the first leading minor that isn't positive, or 0.

    Only one triangle of A is read. Where a minor isn't positive, the factor is left as far as it got, as by LAPACK.
    """
    check_square_float("linalg.cholesky", A)
    info = xp.zeros(A.shape[:-2], "int32")
    A = A.swapaxes(-1, -2).conj() if upper else A
    try:
        lower = _factored(xp, A)
    except xp.linalg.LinAlgError:
        lower = xp.tril(A)
        for place in xp.ndindex(*A.shape[:-2]):
            info[place] = _failing_minor(xp, A[place])
            _factor_before(xp, lower[place], int(info[place] or A.shape[-1] + 1) - 1)
    if check_errors:
        check_completed("linalg.cholesky_ex", NOT_POSITIVE, info)
    return by_columns(xp, lower.swapaxes(-1, -2).conj() if upper else lower), info


def _factored(xp: Any, A: Array) -> Array:
    """The lower factor. Raises LinAlgError for a pivot that is NaN too, where some builds of LAPACK go on."""
    lower = xp.linalg.cholesky(A)
    if xp.isnan(lower.diagonal(0, -2, -1)).any():
        raise xp.linalg.LinAlgError
    return lower


def _failing_minor(xp: Any, matrix: Array) -> int:
    """The order of the first leading minor that isn't positive definite; 0 if all are."""
    for order in range(1, len(matrix) + 1):
        try:
            _factored(xp, matrix[:order, :order])
        except xp.linalg.LinAlgError:
            return order
    return 0


def _factor_before(xp: Any, lower: Array, count: int) -> None:
    """Overwrites a lower triangle with its factor's first columns, as many as `count`, and with the pivot that follows.

    A = L Lᴴ has A₂₁ = L₂₁ L₁₁ᴴ.
    """
    factor = lower[:count, :count] = xp.linalg.cholesky(lower[:count, :count])
    if count < len(lower):
        below = lower[count:, :count] = xp.linalg.solve(factor, lower[count:, :count].conj().T).conj().T
        lower[count, count] = lower[count, count].real - (abs(below[0]) ** 2).sum()


@composite(autocast="float32", variants="function out", namespace="linalg")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L Lᴴ = A, or its adjoint, for a positive definite A: (…, n, n) → (…, n, n).

    Raises LinAlgError for another A, RuntimeError unless it is square.
    """
    factor, info = cholesky_ex(A, upper=upper)
    check_completed("linalg.cholesky", NOT_POSITIVE, info)
    return factor


_older = function_of(OPS["cholesky_ex"].twin("CholeskyBackward0"), with_out=False)


@composite(autocast="float32", out_type=CASTS, variants="function method out")
@called("cholesky")
def torch_cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """`linalg.cholesky` by its older name: (…, n, n) → L (…, n, n), or with `upper` its adjoint."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n"
        "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    factor, info = _older(input, upper=upper)
    check_completed("cholesky", NOT_POSITIVE, info)
    return factor
