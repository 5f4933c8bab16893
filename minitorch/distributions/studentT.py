"""Student's t-distribution. Source: https://pytorch.org/docs/stable/distributions.html#studentt"""

from __future__ import annotations

import math

from minitorch.distributions import constraints
from minitorch.distributions.chi2 import Chi2
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Parameter, Shape, _standard_normal, broadcast_all, formula
from minitorch.tensor import Tensor


class StudentT(Distribution):
    """loc + scale · X/√(Z/df), X standard normal and Z of the χ² distribution with `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _members = ("_chi2",)

    def __init__(
        self, df: Parameter, loc: Parameter = 0.0, scale: Parameter = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = formula(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = formula(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = self.df.masked_fill(~finite, 3)  # keeps the gradient of what isn't finite at 0
        variance = (self.scale.pow(2) * df / (df - 2)).masked_fill(~finite, math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + (0.5 * self.df).lgamma()
            - (0.5 * (self.df + 1.0)).lgamma()
        )
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - next_half.lgamma()
        return self.scale.log() + next_half * (next_half.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
