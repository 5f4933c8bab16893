"""The multivariate normal distribution.

Source: https://pytorch.org/docs/stable/distributions.html#multivariatenormal
"""

from __future__ import annotations

import math

from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Shape, _standard_normal, lazy_property
from minitorch.ops.broadcasting import broadcast_shapes
from minitorch.ops.creation import eye
from minitorch.ops.linalg import cholesky, inv, solve_triangular
from minitorch.tensor import Tensor


def _squared_distance(scale_tril: Tensor, x: Tensor) -> Tensor:
    """xᵀ (L Lᵀ)⁻¹ x, Mahalanobis' distance squared, for L (…, n, n) and x (…, n), broadcast."""
    return solve_triangular(scale_tril, x.unsqueeze(-1), upper=False).pow(2).sum([-2, -1])


def _half_log_det(scale_tril: Tensor) -> Tensor:
    """½ ln det(L Lᵀ)."""
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The L with L Lᵀ = P⁻¹: the factor of P with rows and columns in reverse order, transposed, is L⁻¹."""
    inverse = cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(inverse, identity, upper=False)


class MultivariateNormal(Distribution):
    """Vectors (…, n) with mean `loc` and covariance Σ, given as `covariance_matrix` Σ, as `precision_matrix` Σ⁻¹ or as
    `scale_tril`, its Cholesky factor, which is what all computations use.

    Raises ValueError unless exactly one of them is given, for a vector instead of a matrix, and for a number as `loc`.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _members = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Shape, _instance: MultivariateNormal | None = None) -> MultivariateNormal:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._matrix(inv(factor @ factor.mT))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = _squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        log_norm = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (log_norm + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (entropy + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
