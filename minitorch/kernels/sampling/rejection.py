"""Numbers drawn by trial and error, one at a time: how many draws one takes is known only once it has been accepted.

`gamma` and `poisson` make many of them faster, and of the same draws.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.normal import normal_sample
from minitorch.random import Source

THIRD = np.float32(1) / np.float32(3)  # these two are float32 even where PyTorch computes in float64
SQUEEZE = float(np.float32(0.0331))
LARGE_RATE = 10.0


class GammaParameters(NamedTuple):
    """What gamma numbers of shape α need, a float64 each: arrays, or the numbers of one element.

    Below 1, α is raised by one and the result times u^power.
    """

    alpha: Any
    power: Any
    c: Any
    d: Any

    @classmethod
    def of(cls, alpha: Array) -> GammaParameters:
        """Those of an array of α, in whose precision they are computed."""
        small = alpha < 1
        d = (alpha + small - THIRD).astype(np.float64)
        return cls(alpha.astype(np.float64), (1 / alpha).astype(np.float64), 1 / np.sqrt(9 * d), d)


def gamma_sample(alpha: float, power: float, c: float, d: float, source: Source) -> float:
    """One gamma number (Marsaglia and Tsang 2000, doi:10.1145/358407.358414)."""
    if alpha == 0:
        return 0.0
    scale = np.float64(1 - source.uniform()) ** power if alpha < 1 else 1.0
    while True:
        x = normal_sample(source)
        while (y := 1 + c * x) <= 0:
            x = normal_sample(source)
        if gamma_accepts(x, source.uniform(), c, d):
            return float(scale * d * (y * y * y))


def gamma_accepts(x: float, uniform: float, c: float, d: float) -> bool:
    """Whether a normal number x, with 1 + cx > 0, is made a gamma number, d (1 + cx)³."""
    y = 1 + c * x
    v, u, square = y * y * y, 1 - uniform, x * x
    return u < 1 - SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v))


def poisson_sample(rate: float, source: Source) -> int:
    """One Poisson number.

    For rates below 10 a uniform number is multiplied by further ones as long as the product stays above exp(−λ) (Knuth,
    TAOCP vol. 2, 3.4.1); from 10 on it is transformed rejection, PTRS (Hörmann 1993, doi:10.1016/0167-6687(93)90997-4).
    """
    if rate >= LARGE_RATE:
        return _poisson_large(rate, source)
    if rate == 0:
        return 0
    count, product, limit = 0, source.uniform(), math.exp(-rate)
    while product > limit:
        count += 1
        product *= source.uniform()
    return count


def _poisson_large(rate: float, source: Source) -> int:
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = source.uniform() - 0.5, source.uniform()
        us = 0.5 - abs(u)
        proposed = (2 * a / us + b) * u + rate + 0.43
        k = math.floor(proposed) if abs(proposed) < 2**63 else -(2**63)  # what no int64 holds PyTorch makes negative
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accepted <= -rate + k * log_rate - math.lgamma(k + 1):
            return k
