"""Eigenvalues of general matrices, condition numbers, tensors solved as matrices, and older names of decompositions.

Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.one_node import one_node
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import type_name
from minitorch.ops.linalg import qr_svd_eigh
from minitorch.ops.linalg.common import adjoint, by_columns, check_same_type, check_square, copied_by_columns, linalg
from minitorch.ops.linalg.lu import lu_factor_ex
from minitorch.ops.linalg.norms import matrix_norm
from minitorch.ops.linalg.solve import inv, inv_ex, solve, solve_triangular
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once


def _eig_gradient(grads: Any, result0: Tensor, result1: Tensor, A_dtype: Any) -> Tensor:
    """Boeddeker et al. (2017), *On the computation of complex-valued gradients*, §4.5; eigenvectors have unit norm."""
    of_values, of_vectors = grads
    values, vectors = result0, result1
    middle = values.new_zeros(vectors.shape) if of_values is None else of_values.diag_embed()
    if of_vectors is not None and vectors.numel():
        product = adjoint(vectors) @ of_vectors
        along = product.diagonal(0, -2, -1)
        if not bool(along.imag.abs().max() < 1e-2 * max(1.0, float(product.abs().max()))):
            raise RuntimeError(
                "linalg_eig_backward: The eigenvectors in the complex case are specified up to multiplication by "
                "e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
            )
        product = product - adjoint(vectors) @ (vectors * along.real.unsqueeze(-2))
        gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj()
        middle = middle + product * gaps.masked_fill(gaps == 0, math.inf).reciprocal()
    result = solve(adjoint(vectors), middle @ adjoint(vectors))
    return result if A_dtype.is_complex else result.real


@linalg(out_type=CASTS, outputs=return_types.linalg_eig, derivatives={"A": _eig_gradient})
def eig(xp: Any, A: Array) -> tuple[Array, Array]:
    """The eigenvalues (…, n), in no order, and eigenvectors (…, n, n) of unit norm, complex also for real matrices.

    Raises RuntimeError unless the matrices are square and finite, NotImplementedError for two-byte floats.
    """
    check_square("linalg.eig", A)
    if A.dtype.kind not in "fc":
        raise RuntimeError(f"Unknown Complex ScalarType for {type_name(A)}")
    if A.dtype.itemsize == 2:
        raise not_implemented("linalg_eig_out_cpu", A.dtype.name)
    if not xp.isfinite(A).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, vectors = xp.linalg.eig(A)
    kind = "complex64" if A.dtype.name in ("float32", "complex64") else "complex128"
    return values.astype(kind), by_columns(xp, vectors.astype(kind))


@composite(autocast="float32", out_type=CASTS, variants="function out", namespace="linalg")
def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex, in no order."""
    return eig(input)[0]


@composite(autocast="float32", out_type=CASTS, variants="function out", namespace="linalg")
def cond(input: Tensor, p: Any = None) -> Tensor:
    """‖input‖ ‖input⁻¹‖ of each matrix, (…, m, n) → (…), ∞ for a singular one.

    By default and for p = ±2 it is the ratio of the extreme singular values. Other norms need square matrices. Raises
    RuntimeError for an unknown norm or a wrong shape.
    """
    if p not in (None, 2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        values = qr_svd_eigh.svdvals(input)
        largest, least = values[..., :1], values[..., -1:]
        return (least / largest if p == -2 else largest / least).squeeze(-1)
    order = f'"{p}"' if isinstance(p, str) else f"{p:g}"
    check_square(f"linalg.cond(ord={order})", input)
    inverse, info = inv_ex(input)
    result = (matrix_norm(input, p) * matrix_norm(inverse, p)).masked_fill(info > 0, math.inf)
    return result.masked_fill(result.isnan(), math.inf)


@composite(autocast="float32", out_type=CASTS, variants="function out", namespace="linalg")
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The tensor B with tensordot(B, input, ind) the identity: input's first `ind` dimensions are its rows.

    (*a, *b) with ∏ a = ∏ b → (*b, *a). Raises RuntimeError for other sizes, a singular input, or an `ind` below 1.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = tuple(input.shape[:ind]), tuple(input.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(columns)} != {math.prod(rows)}"
        )
    return inv(input.reshape(math.prod(rows), math.prod(columns))).reshape(columns + rows)


@composite(autocast="float32", out_type=CASTS, variants="function out", namespace="linalg")
def tensorsolve(input: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    """The tensor X with tensordot(input, X, X.dim()) = other; input's `dims` are first moved to its end.

    (*a, *b), (*a) with ∏ a = ∏ b → (*b). Raises RuntimeError for other sizes, and for a singular input.
    """
    if dims is not None:
        input = input.movedim(tuple(dims), tuple(range(input.dim() - len(dims), input.dim())))
    columns = tuple(input.shape[other.dim() :])
    if math.prod(columns) != other.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {math.prod(columns)} != {other.numel()}"
        )
    return solve(input.reshape(other.numel(), other.numel()), other.reshape(-1)).reshape(columns)


@composite(variants="function", namespace="linalg")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of the last two dimensions."""
    return A.diagonal(offset, dim1, dim2)


def _factor_gradient(of_matrix: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient in L of what is computed of L Lᴴ, or of Lᴴ L: in all elements, as PyTorch's. `of_matrix` is what
    the two factors get together.
    """
    return factor @ of_matrix if upper else of_matrix @ factor


def _cholesky_solve_gradients(
    grad: Tensor, self: Tensor, input2: Tensor, result: Tensor, upper: bool
) -> tuple[Tensor, Tensor]:
    of_right = cholesky_solve(grad, input2, upper)
    of_matrix = of_right @ adjoint(result)
    return of_right, -_factor_gradient(of_matrix + adjoint(of_matrix), input2, upper)


def _check_lapack(array: Array, kernel: str) -> None:
    """Raises NotImplementedError for a type in which LAPACK doesn't compute."""
    if array.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise not_implemented(kernel, array.dtype.name)


def _matrix(xp: Any, factor: Array, upper: bool) -> Array:
    """L Lᴴ of the lower triangle of L, or Lᴴ L of the upper one."""
    lower = xp.triu(factor).swapaxes(-1, -2).conj() if upper else xp.tril(factor)
    return lower @ lower.swapaxes(-1, -2).conj()


@declare(
    autocast="float32",
    out_type=CASTS,
    variants="function method out",
    derivatives={"self, input2": _cholesky_solve_gradients},
)
def cholesky_solve(xp: Any, self: Array, input2: Array, upper: bool = False) -> Array:
    """The X with A X = input, A being L Lᴴ, or Lᴴ L for an upper triangular L = input2.

    (…, n, k), (…, n, n) → (…, n, k).
    """
    for name, each in (("b", self), ("u", input2)):
        if each.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {each.ndim} dimensions instead")
    size = input2.shape[-1]
    if size != input2.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {input2.shape[-2]} by {size} matrices")
    if size != self.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {size} by {size} but each b matrix is "
            f"{self.shape[-2]} by {self.shape[-1]}"
        )
    check_same_type("", "b", self, "A", input2)
    _check_lapack(input2, "cholesky_solve_cpu")
    return by_columns(xp, xp.linalg.solve(_matrix(xp, input2, upper), self))


@declare(
    autocast="float32",
    out_type=CASTS,
    variants="function method out",
    derivatives={
        "self": lambda grad, self, result, upper: (
            -_factor_gradient(result @ ((grad + adjoint(grad)) @ result), self, upper)
        )
    },
)
def cholesky_inverse(xp: Any, self: Array, upper: bool = False) -> Array:
    """(L Lᴴ)⁻¹, or (Lᴴ L)⁻¹ for an upper triangular L: (…, n, n) → (…, n, n). Raises RuntimeError unless square."""
    check_square("cholesky_inverse", self)
    _check_lapack(self, "cholesky_inverse_out_cpu")
    return by_columns(xp, xp.linalg.inv(_matrix(xp, self, upper)))


@composite(autocast="float32", variants="function method out")
@one_node("TriangularSolveBackward0", "input, A", saves="result0", outputs=return_types.triangular_solve)
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The X with A X = input (Aᵀ X with `transpose`) for a triangular A (…, n, n), and a copy of A. Deprecated."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
        "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one "
        "of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B)."
    )
    check_same_type("", "b", input._array, "A", A._array)
    turned, is_upper = (A.mT, not upper) if transpose else (A, upper)
    return solve_triangular(turned, input, upper=is_upper, unitriangular=unitriangular), copied_by_columns(A)


@composite(autocast="float32", variants="function method out")
def qr(input: Tensor, some: bool = True) -> Any:
    """`linalg.qr` by its older name: (…, m, n) → Q (…, m, k) and R (…, k, n), k = min(m, n), or m with `some=False`."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
        "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return return_types.qr(*qr_svd_eigh.qr(input, "reduced" if some else "complete"))


@composite(autocast="float32", variants="function method out")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S, V with U diag(S) Vᴴ = input; with `compute_uv=False` U and V are zeros."""
    if compute_uv:
        U, S, Vh = qr_svd_eigh.svd(input, full_matrices=not some)
        return return_types.svd(U, S, Vh.mH)
    rows, columns = input.shape[-2:]
    zeros = [input.new_zeros((*input.shape[:-2], size, size)) for size in (rows, columns)]
    return return_types.svd(zeros[0], qr_svd_eigh.svdvals(input), zeros[1])


@composite(variants="function method")
def lu(input: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """`linalg.lu_factor` that doesn't raise for singular matrices (…, m, n), by its older name.

    `info` comes too where it is asked for.
    """
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in "
        "a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    LU, pivots, info = lu_factor_ex(input, pivot=pivot)
    if out is None:
        return return_types._lu_with_info(LU, pivots, info) if get_infos else (LU, pivots)
    results = (LU, pivots, info) if get_infos else (LU, pivots)
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for target, each in zip(out, results, strict=True):
        target.resize_as_(each).copy_(each)
    return out
