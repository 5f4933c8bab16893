"""The Wishart distribution. Source: https://pytorch.org/docs/stable/distributions.html#wishart"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch import Size, Tensor, arange, broadcast_shapes, cholesky_solve, eye, finfo, randn, tensor
from minitorch.distributions import constraints
from minitorch.distributions.chi2 import Chi2
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.scale_tril import WithScaleTril, half_log_det, only_one
from minitorch.distributions.utils import Parameter, Shape, _lower, formula, lazy_property
from minitorch.ops.linalg.determinants import slogdet


class Wishart(WithScaleTril, ExponentialFamily):
    """Positive definite matrices (…, n, n): X Xᵀ for an X of `df` columns drawn from a normal distribution N(0, Σ).

    Σ is given as `covariance_matrix`, as `precision_matrix` Σ⁻¹ or as its Cholesky factor `scale_tril`; `df` > n − 1
    need not be whole. Samples come from Bartlett's decomposition: Σ's factor times a triangle of normal numbers below
    a diagonal of roots of χ².
    Raises AssertionError unless exactly one matrix is given, ValueError for a vector in its place or too small a `df`.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Parameter,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = only_one(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = Size(matrix.shape[:-2])
        if isinstance(df, Tensor):
            batch_shape = broadcast_shapes(batch_shape, df.shape)
            self.df = df.expand(batch_shape)
        else:
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        n = matrix.shape[-1]
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._keep_factor(name, matrix)
        self._dist_chi2 = self._chi2()

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(Size(batch_shape) + self._event_shape)
        new._dist_chi2 = new._chi2()
        return new

    def _chi2(self) -> Chi2:
        """χ² with df, df − 1, …, df − n + 1 degrees of freedom."""
        factor = self._unbroadcasted_scale_tril
        return Chi2(self.df.unsqueeze(-1) - arange(factor.shape[-1], dtype=factor.dtype, device=factor.device))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        identity = eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
        return self._of_batch(cholesky_solve(identity, factor))

    mean = formula(lambda self: self._over_matrices(self.df) * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._over_matrices(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._over_matrices(self.df) * (self.covariance_matrix.pow(2) + products)

    def _over_matrices(self, number: Tensor) -> Tensor:
        return number.view((*self._batch_shape, 1, 1))

    def _bartlett(self, sample_shape: Shape) -> Tensor:
        n = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=finfo(roots.dtype).eps).diag_embed()
        shape = (*sample_shape, *self._batch_shape, n * (n - 1) // 2)
        noise[..., _lower(n, -1, noise)] = randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Tensor:
        """As in PyTorch, what is drawn anew, with a warning, up to `max_try_correction` (10) times, is at first all
        samples of which a matrix is *not* singular, and of these then the singular ones.
        """
        sample = self._bartlett(sample_shape)
        again = self._any_of_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                drawn = self._bartlett(again[again].shape)
                sample[again] = drawn
                again[again.clone()] = self._any_of_batch(~self.support.check(drawn))
                if not again.any():
                    break
        return sample

    def _any_of_batch(self, mask: Tensor) -> Tensor:
        return mask.flatten(-len(self._batch_shape)).any(-1) if self._batch_shape else mask

    def _log_prob(self, value: Tensor) -> Tensor:
        n, factor = self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        normalizer = self.df * (n * math.log(2) / 2 + half_log_det(factor)) + (self.df / 2).mvlgamma(n)
        return (self.df - n - 1) / 2 * slogdet(value).logabsdet - normalizer - trace / 2

    def entropy(self) -> Tensor:
        n, half = self._event_shape[-1], self.df / 2
        digammas = (half.unsqueeze(-1) - arange(n, dtype=half.dtype, device=half.device) / 2).digamma().sum(-1)
        log_det = n * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)
        return (n + 1) * log_det + half.mvlgamma(n) - (self.df - n - 1) / 2 * digammas + n * half

    _natural_params = formula(lambda self: (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - slogdet(-2 * x).logabsdet) + half.mvlgamma(n)
