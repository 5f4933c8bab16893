"""Distributions drawn by trial and error: how many draws a number takes is known only once it has been accepted.

So these go through their elements one by one, in order of index.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.random import Generator
from minitorch.sampling.arithmetic import Array
from minitorch.sampling.fill import NAMES, convert, is_floating, not_implemented, require_floating, uniform_sample
from minitorch.sampling.normal import normal_sample

THIRD = np.float32(1) / np.float32(3)  # these two are float32 even where PyTorch computes in float64
SQUEEZE = float(np.float32(0.0331))


def standard_gamma(alpha: Array, generator: Generator) -> Array:
    """Gamma numbers of shape α and scale 1: density x^(α − 1) exp(−x)/Γ(α). float32 or float64, never less than tiny.

    Marsaglia and Tsang 2000, doi:10.1145/358407.358414. Below 1, α is raised by one and the result times u^(1/α).
    Raises NotImplementedError for other dtypes.
    """
    _require_single_or_double(alpha.dtype, "gamma_cpu")
    return _gamma(alpha, generator)


def dirichlet(alpha: Array, generator: Generator) -> Array:
    """Dirichlet numbers of concentrations α along the last axis: gamma numbers over their sum, inside (0, 1).

    Raises NotImplementedError unless the dtype is float32 or float64.
    Source: https://docs.pytorch.org/docs/stable/distributions.html#dirichlet
    """
    _require_single_or_double(alpha.dtype, "dirichlet")
    gamma = _gamma(alpha.astype(np.float64), generator)
    shares = (gamma / gamma.sum(axis=-1 if gamma.ndim else None, keepdims=True)).astype(alpha.dtype)
    one, zero = alpha.dtype.type(1), alpha.dtype.type(0)
    return np.asarray(np.clip(shares, np.finfo(alpha.dtype).tiny, np.nextafter(one, zero)))


def poisson(rate: Array, generator: Generator) -> Array:
    """Poisson numbers of the given rates λ: P(k) = λᵏ exp(−λ)/k!, in the rates' dtype.

    λ < 10: as many uniform factors as keep the product above exp(−λ) (Knuth). Otherwise transformed rejection (Hörmann
    1993, doi:10.1016/0167-6687(93)90997-4).
    Raises RuntimeError for a negative rate, NotImplementedError for a dtype that isn't floating point.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.poisson.html
    """
    require_floating(rate.dtype, "poisson_cpu")
    if not np.all(rate >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    counts = [_poisson_large(lam, generator) if lam >= 10 else _poisson_small(lam, generator) for lam in _numbers(rate)]
    return convert(np.array(counts, np.float64).reshape(rate.shape), rate.dtype)


def binomial(count: Array, prob: Array, generator: Generator) -> Array:
    """Binomial numbers: successes of `count` trials with probability `prob`, broadcast. float32 or float64.

    Expected successes (or, for prob > ½, failures) below 10: trials between them are skipped by geometric numbers.
    Otherwise transformed rejection, algorithm BTRS (Hörmann 1993, doi:10.1080/00949659308811496).
    Raises ValueError for integers, RuntimeError for unequal dtypes, NotImplementedError for 16-bit types.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.binomial.html
    """
    for name, array in (("count", count), ("prob", prob)):
        if not is_floating(array.dtype):
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {NAMES[array.dtype].scalar}"
            )
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {NAMES[prob.dtype].scalar} but expected {NAMES[count.dtype].scalar}")
    _require_single_or_double(count.dtype, "binomial_cpu")
    count, prob = np.broadcast_arrays(count, prob)
    return _each(lambda n, p: _binomial(n, p, generator), count, prob)


def _require_single_or_double(dtype: np.dtype[Any], kernel: str) -> None:
    if dtype not in (np.float32, np.float64):
        raise not_implemented(dtype, kernel)


def _numbers(array: Array) -> list[float]:
    return array.astype(np.float64).ravel().tolist()


def _each(sample: Callable[..., Any], *arrays: Array) -> Array:
    """One sample for each element. The elements stay NumPy scalars, so that arithmetic with them keeps their dtype."""
    samples = [sample(*scalars) for scalars in zip(*(array.ravel() for array in arrays), strict=True)]
    return np.array(samples, arrays[0].dtype).reshape(arrays[0].shape)


def _gamma(alpha: Array, generator: Generator) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(
            np.fmax(_each(lambda each: _gamma_sample(each, generator), alpha), np.finfo(alpha.dtype).tiny)
        )


def _gamma_sample(alpha: Any, generator: Generator) -> float:
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = np.float64(1 - uniform_sample(generator)) ** float(1 / alpha)
        alpha = alpha + 1
    d = float(alpha - THIRD)
    c = float(1 / np.sqrt(9 * d))
    while True:
        x = normal_sample(generator)
        while (y := 1 + c * x) <= 0:
            x = normal_sample(generator)
        v = y * y * y
        u = 1 - uniform_sample(generator)
        square = x * x
        if u < 1 - SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return float(scale * d * v)


def _poisson_small(rate: float, generator: Generator) -> int:
    if rate == 0:
        return 0
    count, product, limit = 0, uniform_sample(generator), math.exp(-rate)
    while product > limit:
        count += 1
        product *= uniform_sample(generator)
    return count


def _poisson_large(rate: float, generator: Generator) -> int:
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform_sample(generator) - 0.5, uniform_sample(generator)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accepted <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _binomial(count: Any, prob: Any, generator: Generator) -> Any:
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if np.isnan(prob):
        return prob
    rarer = prob if prob <= 0.5 else prob.dtype.type(1 - float(prob))
    sample = _binomial_large if count * rarer >= 10 else _binomial_small
    events = sample(count, rarer, generator)
    return events if prob <= 0.5 else count - events


def _binomial_small(count: Any, prob: Any, generator: Generator) -> Any:
    log_failure = float(prob.dtype.type(math.log1p(-prob)))
    events, trials = 0, 0.0
    while True:
        trials += math.ceil(math.log(uniform_sample(generator)) / log_failure)
        if trials > count:
            return prob.dtype.type(events)
        events += 1


def _binomial_large(count: Any, prob: Any, generator: Generator) -> Any:
    deviation = float(np.sqrt(count * prob * (1 - prob)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(prob)
    c = float(count * prob) + 0.5
    v_r = 0.92 - 4.2 / b
    odds = float(prob / (1 - prob))
    alpha = (2.83 + 5.1 / b) * deviation
    m = float(np.floor((count + 1) * prob))
    n = float(count)
    while True:
        u, v = uniform_sample(generator) - 0.5, uniform_sample(generator)
        us = 0.5 - abs(u)
        k = prob.dtype.type(math.floor((2 * a / us + b) * u + c))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        rest = float(count - k)
        accepted = (
            (m + 0.5) * math.log((m + 1) / (odds * (n - m + 1)))
            + float(count + 1) * math.log((n - m + 1) / float(count - k + 1))
            + (float(k) + 0.5) * math.log(odds * float(count - k + 1) / float(k + 1))
            + (_stirling_rest(m) + _stirling_rest(n - m) - _stirling_rest(float(k)) - _stirling_rest(rest))
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= accepted:
            return k


def _stirling_rest(k: float) -> float:
    """ln k! − ((k + ½) ln(k + 1) − (k + 1) + ½ ln 2π), what Stirling's formula leaves out; a series from k = 10 on."""
    if k < 10:
        k = math.floor(k)
        return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
