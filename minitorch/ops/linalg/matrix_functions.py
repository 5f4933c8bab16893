"""The exponential of a matrix, and orthogonal matrices as products of reflections.

Source: https://pytorch.org/docs/stable/generated/torch.linalg.matrix_exp.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.declaration import METHODS, NAMESPACES, composite, declare
from minitorch.dispatch.errors import no_formula, not_implemented
from minitorch.dispatch.one_node import one_node
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import type_name
from minitorch.layout import contiguous_format
from minitorch.ops.creation.filled import eye
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.common import adjoint, check_square, check_square_float, copied_by_columns
from minitorch.ops.linalg.solve import inv
from minitorch.tensor import Tensor

_TAYLOR_DEGREE = 18  # enough for float64 where the norm is at most 1


def _matrix_exp_gradient(grad: Tensor, self: Tensor) -> Tensor:
    """The exponential of [[Aᴴ, G], [0, Aᴴ]] has it above the diagonal (Mathias 1996)."""
    n, transposed = self.size(-1), adjoint(self)
    above = cat([transposed, grad], -1)
    below = cat([transposed.new_zeros(transposed.shape), transposed], -1)
    return matrix_exp(cat([above, below], -2))[..., :n, n:]


@declare(node="LinalgMatrixExpBackward0", derivatives={"self": _matrix_exp_gradient})
def matrix_exp(xp: Any, self: Array) -> Array:
    """Σ Aᵏ/k! of each matrix of a batch (…, n, n), by scaling and squaring.

    https://pytorch.org/docs/stable/generated/torch.linalg.matrix_exp.html
    """
    check_square_float("linalg.matrix_exp", self)
    norm = float(abs(self).sum(-2).max()) if self.size else 0.0
    squarings = max(0, math.ceil(math.log2(norm))) if 0 < norm < math.inf else 0
    scaled = self / 2.0**squarings
    identity = xp.eye(self.shape[-1], dtype=self.dtype)
    result = xp.broadcast_to(identity, self.shape)
    for k in range(_TAYLOR_DEGREE, 0, -1):
        result = identity + scaled @ result / k
    for _ in range(squarings):
        result = result @ result
    return result.astype(self.dtype, copy=False)


NAMESPACES["linalg"]["matrix_exp"] = matrix_exp


@composite(out_type=CASTS, variants="function out", namespace="linalg")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The matrices (…, n, n) multiplied by themselves n times; their inverses for a negative n; the identity for 0."""
    check_square("linalg.matrix_power", input._array)
    if n < 0:
        return inv(input) if n == -1 else matrix_power(inv(input), -n)
    if n == 3:
        return (input @ input) @ input
    base, result = input, None
    while n:  # the bits of n say which squares are factors
        if n & 1:
            result = input if result is None else result @ input
        input = input @ input if n > 1 else input
        n >>= 1
    if result is None:
        return input.contiguous().clone().copy_(input.new_ones(input.shape[:-1]).diag_embed())
    return base.clone(memory_format=contiguous_format) if result is base else result


NAMESPACES["torch"]["matrix_power"] = METHODS["matrix_power"] = matrix_power


@declare(
    autocast="float32",
    out_type=CASTS,
    variants="function method out",
    outputs=return_types.geqrf,
    derivatives={"self": no_formula("geqrf")},
)
def geqrf(xp: Any, self: Array) -> tuple[Array, Array]:
    """The QR decomposition of (…, m, n) as LAPACK stores it: R on and above the diagonal, below it the reflections,
    and their factors τ (…, min(m, n)). Raises RuntimeError for less than two dimensions, NotImplementedError for other
    dtypes than floats and complex numbers.
    """
    if self.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if self.dtype.kind not in "fc" or self.dtype.itemsize == 2:
        raise not_implemented("geqrf_cpu", self.dtype.name)
    columns, tau = xp.linalg.qr(self, mode="raw")
    return xp.ascontiguousarray(columns).swapaxes(-1, -2), tau


@composite(autocast="float32", out_type=CASTS, namespace="linalg", variants="function out")
@one_node("LinalgHouseholderProductBackward0", "input, tau", saves="result")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of H₁ … Hₖ, Hᵢ = 1 − τᵢ vᵢ vᵢᴴ, where vᵢ is 1 followed by column i of the input below the
    diagonal. Shapes (…, m, n) and (…, k) to (…, m, n), m ≥ n ≥ k.
    """
    _check_reflections(input, tau)
    (m, n), k = input.shape[-2:], tau.size(-1)
    identity = eye(m, n, dtype=input.dtype, device=input.device)
    if not input.numel() or not tau.numel():
        return copied_by_columns(identity.expand(input.shape))
    v = (input.tril(-1) + identity)[..., :k]
    # H₁ … Hₖ = 1 − V (1 + D S)⁻¹ D Vᴴ, where D = diag(τ) and S is what lies above the diagonal of Vᴴ V.
    # Puglisi 1992, doi:10.1137/0913042
    overlap = identity[:k, :k] + tau.unsqueeze(-1) * (adjoint(v) @ v).triu(1)
    return copied_by_columns(identity - v @ (inv(overlap) @ (tau.unsqueeze(-1) * adjoint(v)[..., :n])))


NAMESPACES["torch"]["orgqr"] = METHODS["orgqr"] = householder_product


def _check_reflections(input: Tensor, tau: Tensor) -> None:
    def refuse(reason: str) -> None:
        raise RuntimeError(f"torch.linalg.householder_product: {reason}")

    if input.dim() < 2:
        refuse("input must have at least 2 dimensions.")
    if input.size(-2) < input.size(-1):
        refuse("input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.size(-1) < tau.size(-1):
        refuse("input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.dim() != tau.dim() + 1:
        refuse(
            "Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau.dim()} and input.ndim is equal to {input.dim()}"
        )
    if input.shape[:-2] != tau.shape[:-1]:
        refuse(f"Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}")
    if input.dtype != tau.dtype:
        refuse(f"tau dtype {type_name(tau._array)} does not match input dtype {type_name(input._array)}")
