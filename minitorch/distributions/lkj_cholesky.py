"""The LKJ distribution of correlation matrices. Source: https://pytorch.org/docs/stable/distributions.html#lkjcholesky"""

from __future__ import annotations

import math

from minitorch import Size, Tensor, arange, cat, finfo, mvlgamma, randn
from minitorch.distributions import constraints
from minitorch.distributions.beta import Beta
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Parameter, Shape, broadcast_all


class LKJCholesky(Distribution):
    """Cholesky factors (…, dim, dim) of correlation matrices R, whose density is in proportion to det(R)^(η − 1).

    η is the `concentration`: 1 makes all R equally likely, more than that favours those near the identity.
    Samples are made by the onion method of Lewandowski, Kurowicka and Joe 2009, doi:10.1016/j.jmva.2009.04.008.
    Raises ValueError for less than two dimensions.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _kept = ("dim",)

    def __init__(self, dim: int, concentration: Parameter = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        eta = self.concentration.detach()
        rows = arange(self.dim - 1, dtype=eta.dtype, device=eta.device)
        rows = cat([rows.new_zeros((1,)), rows])
        marginal = (eta + 0.5 * (self.dim - 2)).unsqueeze(-1)
        squared_length = Beta(rows + 0.5, marginal - 0.5 * rows).sample(sample_shape).unsqueeze(-1)
        normal = randn(self._extended_shape(sample_shape), dtype=eta.dtype, device=eta.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0.0
        below = squared_length.sqrt() * direction
        diagonal = (1 - below.square().sum(-1)).clamp(min=finfo(below.dtype).tiny).sqrt()
        return below + diagonal.diag_embed()

    def _log_prob(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        normalizer = 0.5 * rest * math.log(math.pi) + mvlgamma(alpha - 0.5, rest) - alpha.lgamma() * rest
        return (order * diagonal.log()).sum(-1) - normalizer
