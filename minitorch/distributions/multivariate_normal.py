"""The multivariate normal distribution.

Source: https://pytorch.org/docs/stable/distributions.html#multivariatenormal
"""

from __future__ import annotations

import math

from minitorch import Tensor, broadcast_shapes
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.scale_tril import WithScaleTril, half_log_det, only_one
from minitorch.distributions.utils import Shape, _standard_normal, formula, lazy_property
from minitorch.ops.linalg.solve import inv, solve_triangular


def _squared_distance(scale_tril: Tensor, x: Tensor) -> Tensor:
    """xᵀ (L Lᵀ)⁻¹ x, Mahalanobis' distance squared, for L (…, n, n) and x (…, n), broadcast."""
    return solve_triangular(scale_tril, x.unsqueeze(-1), upper=False).pow(2).sum([-2, -1])


class MultivariateNormal(WithScaleTril, Distribution):
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
    _kept = ("_unbroadcasted_scale_tril",)

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
        name, matrix = only_one(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._keep_factor(name, matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._of_batch(inv(factor @ factor.mT))

    mean = mode = formula(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = _squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        log_norm = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (log_norm + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (entropy + half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
