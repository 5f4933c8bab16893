"""Factorizations, inverses and solutions of linear systems; each works on batches (…, n, m).

Their derivatives are those of Giles (2008), *An extended collection of matrix derivative results*.
Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from minitorch import return_types
from minitorch.backend import Array
from minitorch.ops.declaration import METHODS, NAMESPACES, composite, declare
from minitorch.ops.errors import not_implemented
from minitorch.ops.matmul import matmul, type_name
from minitorch.tensor import Tensor


def _check_square(name: str, array: Any) -> None:
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows, columns = array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def _check_float(name: str, array: Array) -> None:
    if array.dtype.kind not in "fc" or array.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(array)}")


def _adjoint(x: Tensor) -> Tensor:
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


def _not_positive(xp: Any, A: Array) -> Exception:
    def fails(matrix: Array) -> bool:
        try:
            xp.linalg.cholesky(matrix)
        except xp.linalg.LinAlgError:
            return True
        return False

    where, matrix = _batch_element(xp, A, fails)
    order = next(k for k in range(1, len(matrix) + 1) if fails(matrix[:k, :k]))
    return _LinAlgError(
        f"linalg.cholesky: {where}The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {order} is not positive-definite)."
    )


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgInvExBackward0",
    derivatives={"A": lambda grad, result: -(_adjoint(result) @ grad @ _adjoint(result))},
)
def inv(xp: Any, A: Array) -> Array:
    """A⁻¹. https://pytorch.org/docs/stable/generated/torch.linalg.inv.html"""
    _check_square("linalg.inv", A)
    _check_float("linalg.inv", A)
    try:
        return xp.linalg.inv(A)
    except xp.linalg.LinAlgError:
        raise _singular(xp, A) from None


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgDetBackward0",
    derivatives={
        "A": lambda grad, A, result: (
            (grad * (result.conj() if result.is_complex() else result))[..., None, None] * _adjoint(inv(A))
        )
    },
)
def det(xp: Any, A: Array) -> Array:
    """The determinant. https://pytorch.org/docs/stable/generated/torch.linalg.det.html"""
    _check_square("linalg.det", A)
    _check_float("linalg.det", A)
    return xp.asarray(xp.linalg.det(A), A.dtype)


def _slogdet_gradient(of_sign: Tensor | None, of_log: Tensor | None, A: Tensor, sign: Tensor) -> Tensor | None:
    scale: Any = of_log
    if of_sign is not None and A.is_complex():  # the sign turns with the imaginary part of log det
        turn = of_sign * sign.conj()
        turn = (turn - turn.conj()) * 0.5
        scale = turn if scale is None else scale + turn
    return None if scale is None else scale[..., None, None] * _adjoint(inv(A))


@declare(
    variants="function",
    namespace="linalg",
    node="LinalgSlogdetBackward0",
    outputs=return_types.linalg_slogdet,
    derivatives={"A": lambda grads, A, result0: _slogdet_gradient(grads[0], grads[1], A, result0)},
)
def slogdet(xp: Any, A: Array) -> tuple[Array, Array]:
    """The sign of the determinant and the logarithm of its size.

    https://pytorch.org/docs/stable/generated/torch.linalg.slogdet.html
    """
    _check_square("linalg.slogdet", A)
    _check_float("linalg.slogdet", A)
    sign, logarithm = xp.linalg.slogdet(A)
    return xp.asarray(sign, A.dtype), xp.asarray(logarithm, A.real.dtype)


def _is_vector(A: Any, B: Any) -> bool:
    """Whether B is a vector, or a batch of vectors, rather than of matrices."""
    return len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and A.shape[:-1] == B.shape)


def _check_solvable(name: str, A: Any, B: Any, left: bool) -> None:
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def _solve_gradients(grad: Tensor, A: Tensor, B: Tensor, result: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    if not left:
        of_a, of_b = _solve_gradients(_turned(grad), _turned(A), _turned(B), _turned(result), True)
        return _turned(of_a), _turned(of_b)
    of_b = solve(_adjoint(A), grad)
    if _is_vector(A, B):
        return -(of_b.unsqueeze(-1) @ _adjoint(result.unsqueeze(-1))), of_b
    return -(of_b @ _adjoint(result)), of_b


def _turned(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgSolveExBackward0",
    derivatives={"A, B": lambda grad, A, B, left, result: _solve_gradients(grad, A, B, result, left)},
)
def solve(xp: Any, A: Array, B: Array, *, left: bool = True) -> Array:
    """The X of A X = B, or of X A = B. https://pytorch.org/docs/stable/generated/torch.linalg.solve.html"""
    _check_square("linalg.solve", A)
    _check_float("linalg.solve", A)
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
            result = xp.linalg.solve(A, right)
        else:
            result = xp.linalg.solve(A.swapaxes(-1, -2), right.swapaxes(-1, -2)).swapaxes(-1, -2)
    except xp.linalg.LinAlgError:
        raise _LinAlgError("torch.linalg.solve: The solver failed because the input matrix is singular.") from None
    return result[..., 0] if vector else result


def _triangle_of(x: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    diagonal = 1 if unitriangular else 0
    return x.triu(diagonal) if upper else x.tril(-diagonal)


@composite(variants="function", namespace="linalg")
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """`solve` for a triangular A, of which only that triangle is read.

    https://pytorch.org/docs/stable/generated/torch.linalg.solve_triangular.html
    """
    _check_square("linalg.solve_triangular", A._array)
    if B.dim() < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _check_solvable("linalg.solve_triangular", A, B, left)
    A = _triangle_of(A, upper, unitriangular)
    if unitriangular:
        A = A + A.new_ones(A.shape[-1]).diag_embed()
    return solve(A, B, left=left)


def _cholesky_gradient(grad: Tensor, result: Tensor, upper: bool) -> Tensor:
    if upper:
        grad, result = _adjoint(grad), _adjoint(result)
    inverse = inv(result)
    middle = (_adjoint(result) @ grad).tril()
    return _adjoint(inverse) @ ((middle + _adjoint(middle.tril(-1))) * 0.5) @ inverse


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
    _check_square("linalg.cholesky", A)
    _check_float("linalg.cholesky", A)
    try:
        lower = xp.linalg.cholesky(A)
    except xp.linalg.LinAlgError:
        raise _not_positive(xp, A) from None
    return lower.swapaxes(-1, -2).conj() if upper else lower


def _qr_gradient(grads: Any, result0: Tensor, result1: Tensor, A: Tensor, mode: str) -> Tensor:
    if mode != "reduced" and A.shape[-2] > A.shape[-1]:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
            if mode == "complete"
            else "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    q, r = result0, result1
    of_q = q.new_zeros(q.shape) if grads[0] is None else grads[0]
    of_r = r.new_zeros(r.shape) if grads[1] is None else grads[1]
    rows, columns = A.shape[-2:]
    if rows >= columns:
        middle = r @ _adjoint(of_r) - _adjoint(of_q) @ q
        symmetric = middle.tril() + _adjoint(middle.tril(-1))
        return (of_q + q @ symmetric) @ _adjoint(inv(r))
    # A = Q [U V]: the right part follows from Q alone.
    u, v = r[..., :rows], A[..., rows:]
    of_u, of_v = of_r[..., :rows], of_r[..., rows:]
    of_q = of_q + v @ _adjoint(of_v)
    middle = u @ _adjoint(of_u) - _adjoint(of_q) @ q
    symmetric = middle.tril() + _adjoint(middle.tril(-1))
    from minitorch.ops.joining import cat

    return cat([(of_q + q @ symmetric) @ _adjoint(inv(u)), q @ of_v], -1)


@declare(
    variants="function",
    namespace="linalg",
    node="LinalgQrBackward0",
    outputs=return_types.linalg_qr,
    derivatives={"A": _qr_gradient},
)
def qr(xp: Any, A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Orthonormal columns Q and upper triangular R with Q R = A.

    https://pytorch.org/docs/stable/generated/torch.linalg.qr.html
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if A.ndim < 2:
        raise RuntimeError("linalg.qr: The input tensor A must have at least 2 dimensions.")
    _check_float("linalg.qr", A)
    if mode == "r":
        return xp.zeros((0,), A.dtype), xp.linalg.qr(A, "r")
    q, r = xp.linalg.qr(A, mode)
    return q, r


def _svd_gradient(grads: Any, result0: Tensor, result1: Tensor, result2: Tensor, full_matrices: bool) -> Tensor:
    if full_matrices and result0.shape[-2] != result2.shape[-1]:
        raise RuntimeError(
            "svd_backward: The singular vectors in the case of full_matrices=True are not differentiable: use "
            "full_matrices=False"
        )
    u, s, vh = result0, result1, result2
    of_u, of_s, of_vh = grads
    middle = s.new_zeros((*s.shape, s.shape[-1])) if of_s is None else of_s.diag_embed()
    squares = s * s
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    factor = gaps.masked_fill(gaps == 0, math.inf).reciprocal()
    if of_u is not None:
        product = _adjoint(u) @ of_u
        middle = middle + (factor * (product - _adjoint(product))) * s.unsqueeze(-2)
    if of_vh is not None:
        product = _adjoint(vh @ _adjoint(of_vh))
        product = _adjoint(product)
        middle = middle + s.unsqueeze(-1) * (factor * (product - _adjoint(product)))
    result = u @ middle.to(u.dtype) @ vh
    if of_u is not None and u.shape[-2] > u.shape[-1]:
        rest = of_u - u @ (_adjoint(u) @ of_u)
        result = result + (rest / s.unsqueeze(-2)) @ vh
    if of_vh is not None and vh.shape[-1] > vh.shape[-2]:
        rest = of_vh - (of_vh @ _adjoint(vh)) @ vh
        result = result + u @ (rest / s.unsqueeze(-1))
    return result


@declare(
    variants="function",
    namespace="linalg",
    node="LinalgSvdBackward0",
    outputs=return_types.linalg_svd,
    derivatives={"A": _svd_gradient},
)
def svd(xp: Any, A: Array, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """U, S, Vᴴ with U diag(S) Vᴴ = A. https://pytorch.org/docs/stable/generated/torch.linalg.svd.html"""
    if A.ndim < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    _check_float("linalg.svd", A)
    u, s, vh = xp.linalg.svd(A, full_matrices=full_matrices)
    return u, s, vh


@composite(variants="function", namespace="linalg")
def svdvals(A: Tensor) -> Tensor:
    """The singular values. https://pytorch.org/docs/stable/generated/torch.linalg.svdvals.html"""
    return svd(A, False)[1]


def _eigh_gradient(grads: Any, result0: Tensor, result1: Tensor) -> Tensor:
    of_values, of_vectors = grads
    values, vectors = result0, result1
    middle = values.new_zeros((*values.shape, values.shape[-1])) if of_values is None else of_values.diag_embed()
    if of_vectors is not None:
        gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
        factor = gaps.masked_fill(gaps == 0, math.inf).reciprocal()
        product = _adjoint(vectors) @ of_vectors
        middle = middle + factor * (product - _adjoint(product)) * 0.5
    return vectors @ middle.to(vectors.dtype) @ _adjoint(vectors)


@declare(
    variants="function",
    namespace="linalg",
    node="LinalgEighBackward0",
    outputs=return_types.linalg_eigh,
    derivatives={"A": _eigh_gradient},
)
def eigh(xp: Any, A: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """Eigenvalues in ascending order and eigenvectors of a Hermitian matrix, of which one triangle is read.

    https://pytorch.org/docs/stable/generated/torch.linalg.eigh.html
    """
    _check_square("linalg.eigh", A)
    if A.dtype.kind not in "fc" or A.dtype.itemsize == 2:
        raise not_implemented("linalg_eigh_cpu", A.dtype.name)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    values, vectors = xp.linalg.eigh(A, UPLO.upper())
    return values, vectors


@composite(variants="function", namespace="linalg")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix. https://pytorch.org/docs/stable/generated/torch.linalg.eigvalsh.html"""
    return eigh(A, UPLO)[0]


@composite(variants="function", namespace="linalg")
def matrix_rank(A: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """How many singular values exceed max(atol, rtol · the largest); rtol is ε · max(n, m) unless a bound is given.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_rank.html
    """
    if A.dim() < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    values = eigvalsh(A).abs() if hermitian else svdvals(A)
    return (values > _bound(A, values, atol, rtol).unsqueeze(-1)).sum(-1)


def _bound(A: Tensor, values: Tensor, atol: Any, rtol: Any) -> Tensor:
    from minitorch.dtypes import finfo

    if rtol is None:
        rtol = finfo(A.dtype).eps * max(A.shape[-2:]) if atol is None else 0.0
    largest = values.amax(-1) if values.shape[-1] else values.new_zeros(values.shape[:-1])
    relative = largest * rtol
    return relative.clamp_min(0.0 if atol is None else float(atol))


def _pinv_gradient(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    """Golub and Pereyra (1973), *The differentiation of pseudo-inverses*: the rank is taken to be constant."""
    adjoint, grad = _adjoint(result), _adjoint(grad)
    if A.shape[-2] <= A.shape[-1]:
        inner = grad @ result
        outer = inner @ adjoint
        return -_adjoint(result @ inner) + outer - A @ (result @ outer) + adjoint @ (result @ (grad - inner @ A))
    inner = result @ grad
    outer = adjoint @ inner
    return -_adjoint(inner @ result) + outer - outer @ result @ A + (grad - A @ inner) @ result @ adjoint


@declare(
    variants="function out",
    namespace="linalg",
    node="LinalgPinvBackward0",
    derivatives={"A": lambda grad, A, result: _pinv_gradient(grad, A, result)},
)
def pinv(xp: Any, A: Array, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    """The Moore-Penrose inverse; singular values up to max(atol, rtol · the largest) count as zero.

    https://pytorch.org/docs/stable/generated/torch.linalg.pinv.html
    """
    if A.ndim < 2 or A.dtype.kind not in "fc" or A.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({type_name(A)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian:
        values, u = xp.linalg.eigh(A)
        vh = u.swapaxes(-1, -2).conj()
    else:
        u, values, vh = xp.linalg.svd(A, full_matrices=False)
    size = xp.abs(values)
    if rtol is None:
        rtol = float(xp.finfo(A.dtype).eps) * max(A.shape[-2:]) if atol is None else 0.0
    bound = xp.maximum(size.max(-1, keepdims=True, initial=0) * float(rtol), float(atol or 0.0))
    inverse = xp.where(size > bound, 1 / values, 0).astype(values.dtype, copy=False)
    return (vh.swapaxes(-1, -2).conj() * inverse[..., None, :]) @ u.swapaxes(-1, -2).conj()


@composite(variants="function", namespace="linalg")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X that makes ‖A X − B‖ least; with residuals where A is tall and of full rank.

    https://pytorch.org/docs/stable/generated/torch.linalg.lstsq.html
    """
    if A.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    vector = B.dim() == A.dim() - 1
    right = B.unsqueeze(-1) if vector else B
    solution = pinv(A, rtol=rcond) @ right
    rows, columns = A.shape[-2:]
    empty = A.new_zeros(0)
    rank = empty.long() if driver == "gels" else matrix_rank(A)
    residuals = solution.reshape(-1)[:0]
    # The default driver, "gelsy", computes no residuals.
    if rows > columns and driver not in (None, "gelsy") and bool((rank == columns).all()):
        residuals = (A @ solution - right).abs().square().sum(-2)
    values = svdvals(A).detach() if driver in ("gelsd", "gelss") else empty
    return return_types.linalg_lstsq(solution.squeeze(-1) if vector else solution, residuals, rank, values)


@composite(variants="function", namespace="linalg")
def matrix_power(A: Tensor, n: int) -> Tensor:
    """A multiplied by itself n times; of the inverse for negative n.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_power.html
    """
    _check_square("linalg.matrix_power", A._array)
    if n < 0:
        return matrix_power(inv(A), -n)
    result: Tensor | None = None
    while n:  # the bits of n say which squares are factors
        if n & 1:
            result = A if result is None else result @ A
        A = A @ A if n > 1 else A
        n >>= 1
    if result is None:
        return A.clone().copy_(A.new_ones(A.shape[:-1]).diag_embed())
    return result.clone() if result is A else result


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


@composite(variants="function", namespace="linalg")
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

    result = chain(0, n - 1)
    result = result.squeeze(0) if first else result
    return result.squeeze(-1) if last else result


@composite(variants="function", namespace="linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x) · y along `dim`. https://pytorch.org/docs/stable/generated/torch.linalg.vecdot.html"""
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)


@composite(variants="function", namespace="linalg")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of the last two dimensions. https://pytorch.org/docs/stable/generated/torch.linalg.diagonal.html"""
    return A.diagonal(offset, dim1, dim2)


def _cross(name: str, input: Tensor, other: Tensor, dim: int) -> Tensor:
    for each in (input, other):
        if each.shape[dim] != 3:
            raise RuntimeError(
                f"{name}: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
            )

    def turned(x: Tensor, shift: int) -> Tensor:
        return x.roll(shift, dim)

    return turned(input, -1) * turned(other, -2) - turned(input, -2) * turned(other, -1)


@composite(variants="function", namespace="linalg")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along a dimension of size 3.

    https://pytorch.org/docs/stable/generated/torch.linalg.cross.html
    """
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    return _cross("linalg.cross", input, other, dim)


# Functions that are in `torch` too, some under another name, and methods.
NAMESPACES["linalg"]["matmul"] = matmul
for _name, _old in (("det", "det"), ("slogdet", "slogdet"), ("inv", "inverse")):
    NAMESPACES["torch"][_old] = METHODS[_old] = NAMESPACES["linalg"][_name]
NAMESPACES["torch"]["matrix_power"] = METHODS["matrix_power"] = matrix_power


@composite()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` with rtol = rcond. https://pytorch.org/docs/stable/generated/torch.pinverse.html"""
    return pinv(input, rtol=rcond)


@composite(variants="function method")
def logdet(input: Tensor) -> Tensor:
    """log det, NaN for a negative determinant. https://pytorch.org/docs/stable/generated/torch.logdet.html"""
    _check_square("logdet", input._array)
    _check_float("logdet", input._array)
    sign, logarithm = slogdet(input)
    return logarithm.masked_fill(sign < 0, math.nan)
