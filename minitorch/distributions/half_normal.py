"""The half-normal distribution. Source: https://pytorch.org/docs/stable/distributions.html#halfnormal"""

from __future__ import annotations

import math

from minitorch.distributions.folded import Folded
from minitorch.distributions.normal import Normal
from minitorch.distributions.utils import Parameter, formula


class HalfNormal(Folded):
    """|x| of a normal number with mean 0 and standard deviation `scale`."""

    base_dist: Normal

    def __init__(self, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    mean = formula(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = formula(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
