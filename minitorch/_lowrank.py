"""Approximations of low rank by random projections.

Source: Halko et al. 2011, https://arxiv.org/abs/0909.4061
"""

from __future__ import annotations

from minitorch.dispatch.declaration import composite
from minitorch.ops.linalg.qr_svd_eigh import qr, svd
from minitorch.ops.random.new import randn
from minitorch.tensor import Tensor


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """An orthonormal basis (m, q) of a space that nearly contains the columns of A: algorithm 4.4 of the paper."""
    columns: Tensor = qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        columns = qr(A @ qr(A.mH @ columns).Q).Q
    return columns


@composite(variants="function")
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Tensor, ...]:
    """U (m, q), S (q,) and V (n, q), whose product U diag(S) Vᴴ approximates A, or A − M: (…, m, n).

    `q` is larger than the rank that is wanted, and `niter` counts the iterations that make the basis more accurate.
    """
    A = A if M is None else A - M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    A = A.mH if wide else A
    basis = _basis(A, 6 if q is None else q, 2 if niter is None else niter)
    left, values, right = svd(basis.mH @ A, full_matrices=False)
    left, right = basis @ left, right.mH
    return (right, values, left) if wide else (left, values, right)


@composite(variants="function")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, ...]:
    """The principal components of the rows of a matrix (m, n): its `svd_lowrank`, after its columns are centered.

    Returns U (m, q), S (q,) and V (n, q), whose columns are the directions; q is by default at most 6.
    Raises ValueError for a q or a niter out of range.
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    result: tuple[Tensor, ...] = svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
    return result


pca_lowrank.__module__ = svd_lowrank.__module__ = __name__
