"""Decompositions: QR, singular values, eigenvalues, and what follows from them; each works on batches (…, n, m).

Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch import autocast
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.one_node import one_node
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import dtype, finfo, type_name
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.common import (
    adjoint,
    by_columns,
    check_float,
    check_square,
    copied_by_columns,
    eigh_of,
    linalg,
    svd_of,
)
from minitorch.ops.linalg.solve import solve_triangular
from minitorch.tensor import Tensor


def _qr_gradient(grads: Any, result0: Tensor, result1: Tensor, A_shape: Any, mode: str) -> Tensor:
    rows, columns = A_shape[-2:]
    if mode != "reduced" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
            if mode == "complete"
            else "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    q, r = result0, result1
    of_q, of_r = grads
    middle = r.new_zeros(()) if of_r is None else of_r @ adjoint(r)
    if of_q is not None:
        middle = middle - adjoint(q) @ of_q
    if rows >= columns:
        upper = middle.triu()
        result = q @ (upper + adjoint(upper.triu(1)))
        result = result if of_q is None else result + of_q
        return solve_triangular(adjoint(r), result, upper=False, left=False)
    # A = Q [U V]: the right part, V, has no share in Q.
    skew = (adjoint(middle) - middle).tril()
    if skew.is_complex():
        skew = skew - skew.diagonal(0, -2, -1).diag_embed() * 0.5
    result = solve_triangular(adjoint(r[..., :rows]), q @ skew, upper=False, left=False)
    result = cat([result, result.new_zeros((*result.shape[:-1], columns - rows))], -1)
    return result if of_r is None else result + q @ of_r


@linalg(outputs=return_types.linalg_qr, derivatives={"A": _qr_gradient})
def qr(xp: Any, A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Orthonormal columns Q and upper triangular R with Q R = A."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if A.ndim < 2:
        raise RuntimeError("linalg.qr: The input tensor A must have at least 2 dimensions.")
    check_float("linalg.qr", A)
    if mode == "r":
        return xp.zeros((0,), A.dtype), by_columns(xp, xp.linalg.qr(A, "r"))
    q, r = xp.linalg.qr(A, mode)
    return by_columns(xp, q), by_columns(xp, r)


def _svd_gradient(grads: Any, result0: Tensor, result1: Tensor, result2: Tensor, full_matrices: bool) -> Tensor:
    u, s, vh = result0, result1, result2
    of_u, of_s, of_vh = grads
    if full_matrices:  # only the singular vectors of singular values have a gradient
        k = s.shape[-1]
        u, vh = u.narrow(-1, 0, k), vh.narrow(-2, 0, k)
        of_u, of_vh = (None if each is None else each.narrow(dim, 0, k) for each, dim in ((of_u, -1), (of_vh, -2)))
    tall = u.shape[-2] >= vh.shape[-1]
    if of_u is None and of_vh is None:
        return u @ (of_s.unsqueeze(-1) * vh) if tall else (u * of_s.unsqueeze(-2)) @ vh
    middle = s.new_zeros((*s.shape, s.shape[-1])) if of_s is None else of_s.diag_embed()
    squares = s * s
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    factor = gaps.masked_fill(gaps == 0, math.inf).reciprocal()
    if of_u is not None:
        product = adjoint(u) @ of_u
        middle = middle + (factor * (product - adjoint(product))) * s.unsqueeze(-2)
    if of_vh is not None:
        product = vh @ adjoint(of_vh)
        middle = middle + s.unsqueeze(-1) * (factor * (product - adjoint(product)))
    middle = middle.to(u.dtype)
    if of_u is not None and u.shape[-2] > vh.shape[-1]:
        scaled = of_u / s.unsqueeze(-2)
        return (u @ middle + scaled - u @ (adjoint(u) @ scaled)) @ vh
    if of_vh is not None and u.shape[-2] < vh.shape[-1]:
        scaled = of_vh / s.unsqueeze(-1)
        return u @ (middle @ vh + scaled - (scaled @ adjoint(vh)) @ vh)
    return u @ (middle @ vh) if tall else (u @ middle) @ vh


@linalg(keyword_only="driver", outputs=return_types.linalg_svd, derivatives={"A": _svd_gradient})
def svd(xp: Any, A: Array, full_matrices: bool = True, driver: str | None = None) -> tuple[Array, Array, Array]:
    """U, S, Vᴴ with U diag(S) Vᴴ = A."""
    if A.ndim < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    check_float("linalg.svd", A)
    u, s, vh = svd_of(xp, A, full_matrices)
    return by_columns(xp, u), s, by_columns(xp, vh)


@composite(autocast="float32", variants="function out", namespace="linalg")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, (…, m, n) → (…, min(m, n)), descending. Raises RuntimeError for less than two dimensions."""
    return svd(A, False, driver=driver)[1]


def _eigh_gradient(grads: Any, result0: Tensor, result1: Tensor) -> Tensor:
    of_values, of_vectors = grads
    values, vectors = result0, result1
    if of_vectors is None:
        return (vectors * of_values.unsqueeze(-2)) @ adjoint(vectors)
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    factor = gaps.masked_fill(gaps == 0, math.inf).reciprocal()
    product = adjoint(vectors) @ of_vectors
    middle = factor * (product - adjoint(product)) * 0.5
    if of_values is not None:
        middle = middle + of_values.diag_embed()
    return vectors @ (middle.to(vectors.dtype) @ adjoint(vectors))


@linalg(outputs=return_types.linalg_eigh, derivatives={"A": _eigh_gradient})
def eigh(xp: Any, A: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """Eigenvalues in ascending order and eigenvectors of a Hermitian matrix, of which one triangle is read.

    (…, n, n) → (…, n), real, and (…, n, n). Raises RuntimeError unless it is square, NotImplementedError for two-byte
    floats.
    """
    check_square("linalg.eigh", A)
    if A.dtype.kind not in "fc" or A.dtype.itemsize == 2:
        raise not_implemented("linalg_eigh_cpu", A.dtype.name)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    values, vectors = eigh_of(xp, A, UPLO.upper())
    return values, by_columns(xp, vectors)


@composite(autocast="float32", variants="function out", namespace="linalg")
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix."""
    return eigh(input, UPLO)[0]


@composite(autocast="float32", out_type=CASTS, variants="function out", namespace="linalg")
def matrix_rank(
    input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """How many singular values exceed max(atol, rtol · the largest): (…, m, n) → (…), int64.

    rtol is ε · max(n, m) unless a bound is given. Raises RuntimeError for bounds that are complex.
    """
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    values = eigvalsh(input).abs() if hermitian else svdvals(input)
    return (values > _bound(input, values, atol if tol is None else tol, rtol).unsqueeze(-1)).sum(-1)


def _bound(A: Tensor, values: Tensor, atol: Any, rtol: Any) -> Tensor:
    if rtol is None:
        rtol = finfo(A.dtype).eps * max(A.shape[-2:]) if atol is None else 0.0
    largest = values.amax(-1) if values.shape[-1] else values.new_zeros(values.shape[:-1])
    relative = largest * rtol
    if isinstance(atol, Tensor):
        return relative.maximum(atol)
    return relative.clamp_min(0.0 if atol is None else atol)


def _pinv_gradient(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    """Golub and Pereyra (1973), *The differentiation of pseudo-inverses*: the rank is taken to be constant."""
    turned, grad = adjoint(result), adjoint(grad)
    if A.shape[-2] <= A.shape[-1]:
        inner = grad @ result
        outer = inner @ turned
        last = (turned @ result) @ (grad - inner @ A)
        return -adjoint(result @ inner) + outer - (A @ result) @ outer + last
    inner = result @ grad
    outer = turned @ inner
    last = outer @ result @ A
    return -adjoint(inner @ result) + (grad - A @ inner) @ result @ turned + outer - last


@declare(variants="", node="LinalgPinvBackward0", derivatives={"A": _pinv_gradient})
def pseudoinverse(xp: Any, A: Array, rtol: Any, hermitian: bool, atol: Any, lower: dtype | None) -> Array:
    """`pinv`, whose last step is a product; autocast casts its factors to the `lower` type."""
    if A.ndim < 2 or A.dtype.kind not in "fc" or A.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({type_name(A)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian:
        values, u = eigh_of(xp, A)
        vh = u.swapaxes(-1, -2).conj()
    else:
        u, values, vh = svd_of(xp, A, full_matrices=False)
    size = xp.abs(values)
    if rtol is None:
        rtol = float(xp.finfo(A.dtype).eps) * max(A.shape[-2:]) if atol is None else 0.0
    bound = xp.maximum(_largest(xp, size) * float(rtol), float(atol or 0.0))
    inverse = xp.where(size > bound, 1 / values, 0).astype(values.dtype, copy=False)
    left, right = vh.swapaxes(-1, -2).conj() * inverse[..., None, :], u.swapaxes(-1, -2).conj()
    if lower is None:
        return left @ right
    left, right = (each.astype(lower.numpy).astype(A.dtype) for each in (left, right))
    return (left @ right).astype(lower.numpy)


def _largest(xp: Any, sizes: Array) -> Array:
    """The largest of each row, 0 of an empty one."""
    return sizes.max(-1, keepdims=True) if sizes.shape[-1] else xp.zeros((*sizes.shape[:-1], 1), sizes.dtype)


@composite(out_type=CASTS, variants="function out", namespace="linalg", autocast_on_gpu="float32")
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The Moore-Penrose inverse, (…, m, n) → (…, n, m).

    Singular values up to max(atol, rtol · the largest) count as zero. rtol is ε · max(n, m) unless a bound is given.
    Raises RuntimeError for less than two dimensions.
    """
    lower = autocast.lower(A)
    with autocast.switched_off():
        return pseudoinverse(A, rtol if rcond is None else rcond, hermitian, atol, lower)


@composite(autocast="float32", variants="function out", namespace="linalg")
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X that makes ‖input X − b‖ least: (…, m, n), (…, m, k) → (…, n, k).

    The residuals (…, k) come too where input is tall and of full rank. Raises RuntimeError for shapes or dtypes that
    don't fit.
    """
    return return_types.linalg_lstsq(*_least_squares(input, b, rcond, driver))


def _least_squares_gradients(grads: Any, self: Tensor, b: Tensor, result0: Tensor, output_mask: Any) -> Any:
    of_solution, of_residuals = grads[:2]
    vector = b.dim() == self.dim() - 1
    right, solution = (b.unsqueeze(-1), result0.unsqueeze(-1)) if vector else (b, result0)
    of_self: Any = None
    of_right: Any = None
    if of_solution is not None:
        of_solution = of_solution.unsqueeze(-1) if vector else of_solution
        inverse = pinv(self)
        of_self = _pinv_gradient(of_solution @ adjoint(right), self, inverse) if output_mask[0] else None
        of_right = adjoint(inverse) @ of_solution
    if of_residuals is not None and of_residuals.numel():
        weighted = 2 * of_residuals.unsqueeze(-2) * (self @ solution - right)
        share = weighted @ adjoint(solution)
        of_self = share if of_self is None else of_self + share
        of_right = -weighted if of_right is None else of_right - weighted
    return of_self, of_right.squeeze(-1) if vector and of_right is not None else of_right


@one_node("LinalgLstsqBackward0", "self, b", saves="result0", differentiable=2, derivatives=_least_squares_gradients)
def _least_squares(self: Tensor, b: Tensor, rcond: float | None, driver: str | None) -> tuple[Tensor, ...]:
    if self.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    vector = b.dim() == self.dim() - 1
    right = b.unsqueeze(-1) if vector else b
    solution = pinv(self, rtol=rcond) @ right
    rows, columns = self.shape[-2:]
    empty = self.new_zeros(0, dtype=self.dtype.to_real())
    rank = empty.long() if driver == "gels" else matrix_rank(self)
    residuals = (solution.real if solution.is_complex() else solution).reshape(-1)[:0]
    # The default driver, "gelsy", computes no residuals.
    if rows > columns and driver not in (None, "gelsy") and bool((rank == columns).all()):
        residuals = (self @ solution - right).abs().square().sum(-2)
    values = svdvals(self).detach() if driver in ("gelsd", "gelss") else empty
    below = solution.new_zeros(*solution.shape[:-2], max(rows - columns, 0), solution.shape[-1])
    solution = cat([solution, below], -2)
    solution = copied_by_columns(solution)[..., :columns, :]  # where PyTorch had the right sides
    return solution.squeeze(-1) if vector else solution, residuals, rank, values


@composite(autocast="float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` with rtol = rcond: (…, m, n) → (…, n, m)."""
    return pinv(input, rtol=rcond)
