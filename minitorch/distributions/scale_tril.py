"""The Cholesky factor of a covariance, with which distributions compute that are given one matrix of three."""

from __future__ import annotations

from minitorch import Size, Tensor, eye
from minitorch.distributions.utils import lazy_property
from minitorch.ops.linalg.solve import cholesky, solve_triangular


def half_log_det(scale_tril: Tensor) -> Tensor:
    """½ ln det(L Lᵀ)."""
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The L with L Lᵀ = P⁻¹: the factor of P with rows and columns in reverse order, transposed, is L⁻¹."""
    inverse = cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(inverse, identity, upper=False)


def only_one(error: type[Exception], **matrices: Tensor | None) -> tuple[str, Tensor]:
    """The name of the one matrix that is given, and it. Raises `error` unless exactly one is."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


class WithScaleTril:
    """A distribution that keeps the factor L of its covariance L Lᵀ, not yet expanded to the batch."""

    _batch_shape: Size
    _unbroadcasted_scale_tril: Tensor

    def _keep_factor(self, name: str, matrix: Tensor) -> None:
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _of_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    scale_tril = lazy_property(lambda self: self._of_batch(self._unbroadcasted_scale_tril))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._of_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)
