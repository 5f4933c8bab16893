"""The half-Cauchy distribution. Source: https://pytorch.org/docs/stable/distributions.html#halfcauchy"""

from __future__ import annotations

import math

from minitorch import Tensor, as_tensor
from minitorch.distributions.cauchy import Cauchy
from minitorch.distributions.folded import Folded
from minitorch.distributions.utils import Parameter, formula


class HalfCauchy(Folded):
    """|x| of a Cauchy number around 0."""

    base_dist: Cauchy

    def __init__(self, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = formula(lambda self: self.scale.new_full(self._extended_shape(), math.inf))
    variance = formula(lambda self: self.base_dist.variance)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return super().log_prob(as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
