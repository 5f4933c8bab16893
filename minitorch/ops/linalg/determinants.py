"""Determinants, and their logarithms."""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.arrays.quiet import quiet
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch.declaration import METHODS, NAMESPACES, composite, declare
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.common import adjoint, check_square_float
from minitorch.ops.linalg.lu import lu
from minitorch.ops.linalg.qr_svd_eigh import svd
from minitorch.ops.linalg.solve import inv, solve_triangular
from minitorch.ops.naming import called
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.ops.reduction.sums import products_of_others
from minitorch.tensor import Tensor, holds_somewhere


def _det_gradient(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    """grad · conj(det A) · A⁻ᴴ, which is 0 for singular matrices; to be differentiated again it is made of minors."""
    grad = grad[..., None, None]
    if A.shape[-1] == 1 or not A.numel():
        return grad.expand(A.shape)
    invertible = (result != 0)[..., None, None]
    one = A.new_ones(A.shape[-1]).diag()
    gradient: Tensor = grad * conj(result)[..., None, None] * adjoint(inv(A.where(invertible, one)))
    if not grad_mode.enabled or not holds_somewhere(~invertible):
        return gradient
    # With A = U S Vᴴ the minors are conj(det U · det Vᴴ) · U · diag(products of the other singular values) · Vᴴ.
    u, s, vh = svd(A)
    others = products_of_others(s, s.dim() - 1)
    minors = (conj(det(u) * det(vh))[..., None] * others).unsqueeze(-2) * u @ vh
    return gradient.where(invertible, grad * minors)


@declare(variants="function out", namespace="linalg", derivatives={"A": _det_gradient})
def det(xp: Any, A: Array) -> Array:
    """The determinant of each matrix of a batch (…, n, n) → (…).

    Raises RuntimeError for matrices that aren't square, and for integers.
    """
    check_square_float("linalg.det", A)
    return xp.asarray(xp.linalg.det(A), A.dtype)


def _slogdet_gradient(of_sign: Tensor | None, of_log: Tensor | None, A: Tensor, sign: Tensor) -> Tensor | None:
    scale: Any = of_log
    if of_sign is not None and A.is_complex():  # the sign turns with the imaginary part of log det
        turn = of_sign * sign.conj()
        turn = (turn - turn.conj()) * 0.5
        scale = turn if scale is None else scale + turn
    return None if scale is None else scale[..., None, None] * _adjoint_inverse(A, sign == 0)


def _adjoint_inverse(A: Tensor, singular: Tensor) -> Tensor:
    """A⁻ᴴ; for a singular matrix what elimination leaves when it divides by the pivots that are zero."""
    if not holds_somewhere(singular):
        return adjoint(inv(A))
    singular, one = singular[..., None, None], A.new_ones(A.shape[-1]).diag()
    P, L, U = lu(adjoint(A))
    below = solve_triangular(L, adjoint(P), upper=False, unitriangular=True)
    rows: list[Tensor] = []
    for i in reversed(range(A.shape[-1])):
        row = below[..., i : i + 1, :]
        for j, known in enumerate(rows, i + 1):
            row = row - U[..., i : i + 1, j : j + 1] * known
        rows.insert(0, row / U[..., i : i + 1, i : i + 1])
    return cat(rows, -2).where(singular, adjoint(inv(one.where(singular, A))))


@declare(
    variants="function out",
    namespace="linalg",
    outputs=return_types.linalg_slogdet,
    derivatives={"A": lambda grads, A, result0: _slogdet_gradient(grads[0], grads[1], A, result0)},
)
def slogdet(xp: Any, A: Array) -> tuple[Array, Array]:
    """The sign of the determinant and the logarithm of its size."""
    check_square_float("linalg.slogdet", A)
    with quiet():  # NumPy's warning would name its own file, which no filter of ours covers
        sign, logarithm = xp.linalg.slogdet(A)
    return xp.asarray(sign, A.dtype), xp.asarray(logarithm, A.real.dtype)


@composite(variants="function method")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant, NaN for a negative one: (…, n, n) → (…). Raises RuntimeError unless square."""
    check_square_float("logdet", input._array)
    sign, logarithm = slogdet(input)
    if input.is_complex():
        return sign.log() + logarithm
    return logarithm.new_full((), math.nan).where(sign == -1, logarithm)


NAMESPACES["torch"]["det"] = METHODS["det"] = NAMESPACES["linalg"]["det"]


@composite(variants="function method out")
@called("slogdet", slogdet.__doc__)
def torch_slogdet(input: Tensor) -> Any:
    return return_types.slogdet(*slogdet(input))
