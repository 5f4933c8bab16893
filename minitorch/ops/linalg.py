"""Inverses, determinants, solutions of linear systems and products; each works on batches (…, n, m).

Their derivatives are those of Giles (2008), *An extended collection of matrix derivative results*.
Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import type_name
from minitorch.layout import contiguous_format, laid_out
from minitorch.ops.declaration import METHODS, NAMESPACES, OPS, composite, declare
from minitorch.ops.errors import check_dim
from minitorch.ops.matmul import matmul
from minitorch.ops.pointwise import conj
from minitorch.tensor import Tensor


def check_square(name: str, array: Any) -> None:
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows, columns = array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_float(name: str, array: Array) -> None:
    if array.dtype.kind not in "fc" or array.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(array)}")


def by_columns(xp: Any, matrices: Array) -> Array:
    """The same matrices with their columns in one piece, as LAPACK leaves them and PyTorch returns them."""
    return laid_out(xp, matrices.swapaxes(-1, -2).copy(), contiguous_format).swapaxes(-1, -2)


def copied_by_columns(x: Tensor) -> Tensor:
    """`by_columns` of a tensor."""
    return x.mT.clone(memory_format=contiguous_format).mT


def adjoint(x: Tensor) -> Tensor:
    transposed = x.transpose(-2, -1)
    return transposed.conj() if x.is_complex() else transposed


class _LinAlgError(RuntimeError):
    """What factorizations raise that can't be completed; public as `linalg.LinAlgError`."""


def _batch_element(xp: Any, A: Array, fails: Callable[[Array], bool]) -> tuple[str, Array]:
    """The first matrix of a batch that fails, and how errors name it."""
    matrices = A.reshape(-1, *A.shape[-2:])
    number = next((i for i, each in enumerate(matrices) if fails(each)), 0)
    return ("" if A.ndim == 2 else f"(Batch element {number}): "), matrices[number]


def _singular(xp: Any, A: Array) -> Exception:
    where, matrix = _batch_element(xp, A, lambda each: int(xp.linalg.matrix_rank(each)) < len(each))
    return _LinAlgError(
        f"linalg.inv: {where}The diagonal element {int(xp.linalg.matrix_rank(matrix)) + 1} is zero, the inversion "
        "could "
        "not be completed because the input matrix is singular."
    )


def failing_minor(xp: Any, matrix: Array) -> int:
    """The order of the first leading minor that isn't positive definite; 0 if all are."""
    for order in range(1, len(matrix) + 1):
        try:
            xp.linalg.cholesky(matrix[:order, :order])
        except xp.linalg.LinAlgError:
            return order
    return 0


def _not_positive(xp: Any, A: Array) -> Exception:
    where, matrix = _batch_element(xp, A, lambda each: failing_minor(xp, each) > 0)
    order = failing_minor(xp, matrix)
    return _LinAlgError(
        f"linalg.cholesky: {where}The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {order} is not positive-definite)."
    )


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgInvExBackward0",
    derivatives={"A": lambda grad, result: -(adjoint(result) @ grad @ adjoint(result))},
)
def inv(xp: Any, A: Array) -> Array:
    """A⁻¹. https://pytorch.org/docs/stable/generated/torch.linalg.inv.html"""
    check_square("linalg.inv", A)
    check_float("linalg.inv", A)
    try:
        return by_columns(xp, xp.linalg.inv(A))
    except xp.linalg.LinAlgError:
        raise _singular(xp, A) from None


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


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgSolveExBackward0",
    derivatives={"A, B": lambda grad, A, left, result: _solve_gradients(grad, A, result, left)},
)
def solve(xp: Any, A: Array, B: Array, *, left: bool = True) -> Array:
    """The X of A X = B, or of X A = B. https://pytorch.org/docs/stable/generated/torch.linalg.solve.html"""
    check_square("linalg.solve", A)
    check_float("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {type_name(A)} and B of type "
            f"{type_name(B)} instead"
        )
    vector = _is_vector(A, B)
    right = B[..., None] if vector else B
    _check_solvable("linalg.solve", A, right, left)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    try:
        if left:
            result = by_columns(xp, xp.linalg.solve(A, right))
        else:
            turned = xp.linalg.solve(A.swapaxes(-1, -2), right.swapaxes(-1, -2))
            result = by_columns(xp, turned).swapaxes(-1, -2)
    except xp.linalg.LinAlgError:
        raise _LinAlgError("torch.linalg.solve: The solver failed because the input matrix is singular.") from None
    if vector:
        return by_columns(xp, result[..., 0]) if result.ndim > 2 else result[..., 0]
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
    variants="function out",
    namespace="linalg",
    node="LinalgSolveTriangularBackward0",
    derivatives={"self, B": _solve_triangular_gradients},
)
def solve_triangular(
    xp: Any, self: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """`solve` for a triangular matrix, of which only that triangle is read.

    https://pytorch.org/docs/stable/generated/torch.linalg.solve_triangular.html
    """
    check_square("linalg.solve_triangular", self)
    if B.ndim < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _check_solvable("linalg.solve_triangular", self, B, left)
    triangle = xp.triu(self, int(unitriangular)) if upper else xp.tril(self, -int(unitriangular))
    if unitriangular:
        triangle += xp.eye(self.shape[-1], dtype=self.dtype)
    right = B[(None,) * (self.ndim - B.ndim)]  # lest `solve` takes B for a batch of vectors
    return by_columns(xp, OPS["solve"].kernel(xp, triangle, right, left))


def _cholesky_gradient(grad: Tensor, result: Tensor, upper: bool) -> Tensor:
    if upper:
        grad, result = adjoint(grad), adjoint(result)
    inverse = inv(result)
    middle = (adjoint(result) @ grad).tril()
    return adjoint(inverse) @ ((middle + adjoint(middle.tril(-1))) * 0.5) @ inverse


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgCholeskyExBackward0",
    derivatives={"A": lambda grad, result, upper: _cholesky_gradient(grad, result, upper)},
)
def cholesky(xp: Any, A: Array, *, upper: bool = False) -> Array:
    """The lower triangular L with L Lᴴ = A, or its adjoint, for a positive definite A.

    https://pytorch.org/docs/stable/generated/torch.linalg.cholesky.html
    """
    check_square("linalg.cholesky", A)
    check_float("linalg.cholesky", A)
    try:
        lower = xp.linalg.cholesky(A)
    except xp.linalg.LinAlgError:
        raise _not_positive(xp, A) from None
    return by_columns(xp, lower.swapaxes(-1, -2).conj() if upper else lower)


@composite(variants="function out", namespace="linalg")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """input multiplied by itself n times; of the inverse for negative n.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_power.html
    """
    check_square("linalg.matrix_power", input._array)
    if n < 0:
        return inv(input) if n == -1 else matrix_power(inv(input), -n)
    base, result = input, None
    while n:  # the bits of n say which squares are factors
        if n & 1:
            result = input if result is None else result @ input
        input = input @ input if n > 1 else input
        n >>= 1
    if result is None:
        return input.contiguous().clone().copy_(input.new_ones(input.shape[:-1]).diag_embed())
    return base.clone(memory_format=contiguous_format) if result is base else result


def _check_chain(tensors: list[Tensor]) -> None:
    for name, each in (("first", tensors[0]), ("last", tensors[-1])):
        if each.dim() not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {each.dim()}D")
    for number, each in enumerate(tensors[1:-1], 1):
        if each.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {number} must be 2D but got {each.dim()}D")
    for number, (left, right) in enumerate(pairwise(tensors)):
        if left.shape[-1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {number} and {number + 1} with shapes {list(left.shape)} and "
                f"{list(right.shape)} cannot be multiplied"
            )


@composite(variants="function out", namespace="linalg")
def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices in the order that multiplies least; the first and last may be vectors.

    https://pytorch.org/docs/stable/generated/torch.linalg.multi_dot.html
    """
    listed = list(tensors)
    if len(listed) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(listed)}")
    _check_chain(listed)
    first, last = listed[0].dim() == 1, listed[-1].dim() == 1
    if first:
        listed[0] = listed[0].unsqueeze(0)
    if last:
        listed[-1] = listed[-1].unsqueeze(-1)
    sizes = [*(each.shape[0] for each in listed), listed[-1].shape[1]]
    n = len(listed)
    cost = [[0.0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def chain(i: int, j: int) -> Tensor:
        return listed[i] if i == j else chain(i, split[i][j]) @ chain(split[i][j] + 1, j)

    rows, columns = sizes[:1] * (not first), sizes[-1:] * (not last)
    return chain(0, n - 1).view(rows + columns)


@composite(variants="function out", namespace="linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x) · y along `dim`. https://pytorch.org/docs/stable/generated/torch.linalg.vecdot.html"""
    return x.vdot(y) if x.dim() == y.dim() == 1 else (x.conj() * y).sum(dim)


@composite(variants="function", namespace="linalg")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of the last two dimensions. https://pytorch.org/docs/stable/generated/torch.linalg.diagonal.html"""
    return A.diagonal(offset, dim1, dim2)


@declare(
    variants="function out",
    namespace="linalg",
    promotion="keep",
    row_major=True,
    node="LinalgCrossBackward0",
    derivatives={
        "self": lambda grad, other, dim: cross(conj(other), grad, dim=dim),
        "other": lambda grad, self, dim: cross(grad, conj(self), dim=dim),
    },
)
def cross(xp: Any, self: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross product along a dimension of size 3.

    https://pytorch.org/docs/stable/generated/torch.linalg.cross.html
    """
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    check_dim(dim, self.ndim)
    if self.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[dim]} and {other.shape[dim]}"
        )
    one, two = (xp.roll(self, shift, dim) for shift in (-1, -2))
    return one * xp.roll(other, -2, dim) - two * xp.roll(other, -1, dim)


# Functions that are in `torch` too, some under another name, and methods.
NAMESPACES["linalg"]["matmul"] = matmul
NAMESPACES["torch"]["inverse"] = METHODS["inverse"] = inv
NAMESPACES["torch"]["matrix_power"] = METHODS["matrix_power"] = matrix_power
