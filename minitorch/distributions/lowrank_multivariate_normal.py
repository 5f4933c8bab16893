"""The multivariate normal distribution with a covariance of low rank plus a diagonal.

Source: https://pytorch.org/docs/stable/distributions.html#lowrankmultivariatenormal
"""

from __future__ import annotations

import math

from minitorch import Tensor, broadcast_tensors, eye
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.multivariate_normal import _squared_distance
from minitorch.distributions.scale_tril import half_log_det
from minitorch.distributions.utils import Shape, _standard_normal, formula, lazy_property
from minitorch.ops.linalg.solve import cholesky, solve_triangular


class LowRankMultivariateNormal(Distribution):
    """Vectors (…, n) with covariance W Wᵀ + D, given W = `cov_factor` (…, n, m) and the diagonal of D = `cov_diag`.

    What costs n³ elsewhere costs n m² here, by the matrix C = I + Wᵀ D⁻¹ W of m×m (Woodbury's identity).
    Raises ValueError for shapes that don't fit together.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = cholesky(_plus_identity(self._scaled_factor() @ cov_factor))
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _scaled_factor(self) -> Tensor:
        """Wᵀ D⁻¹."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = mode = formula(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance: √D times that of I + D^(−½) W Wᵀ D^(−½)."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return self._matrix(root * cholesky(_plus_identity(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._matrix(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """D⁻¹ − D⁻¹ W C⁻¹ Wᵀ D⁻¹."""
        half = solve_triangular(self._capacitance_tril, self._scaled_factor(), upper=False)
        return self._matrix(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - half.mT @ half)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        of_factor = _standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype, self.loc.device)
        of_diagonal = _standard_normal(shape, self.loc.dtype, self.loc.device)
        low_rank = (self._unbroadcasted_cov_factor @ of_factor.unsqueeze(-1)).squeeze(-1)
        return self.loc + low_rank + self._unbroadcasted_cov_diag.sqrt() * of_diagonal

    def _log_det(self) -> Tensor:
        """ln det of the covariance: ln det C + ln det D."""
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _squared_distance(self, x: Tensor) -> Tensor:
        """Mahalanobis' distance of x from 0, squared."""
        projected = (self._scaled_factor() @ x.unsqueeze(-1)).squeeze(-1)
        along = (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return along - _squared_distance(self._capacitance_tril, projected)

    def _log_prob(self, value: Tensor) -> Tensor:
        log_norm = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (log_norm + self._log_det() + self._squared_distance(value - self.loc))

    def entropy(self) -> Tensor:
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
