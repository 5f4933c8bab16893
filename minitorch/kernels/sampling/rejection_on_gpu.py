"""Gamma, Poisson and binomial numbers on a GPU: each thread draws until it accepts, as cuRAND and PyTorch do it.

All elements that still wait for their number take their next step together.

Sources: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/Distributions.cu; cuRAND's
`curand_poisson`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.kernels.gamma_function import lgamma
from minitorch.kernels.philox import Streams
from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.binomial import check, stirling_rests
from minitorch.kernels.sampling.fill import is_floating, not_implemented

if TYPE_CHECKING:
    from minitorch.gpu_generator import GPUGenerator

SMALL_RATE, LARGE_RATE = 64, 4000
SLOPE = tuple(map(np.float32, (1.43248035, 0.1240097933, 0.00025361075)))  # of the distribution, as cuRAND fits it
MIDDLE = tuple(map(np.float32, (0.21096735, 1.9738116, 0.94201734)))
BLOCK, EACH = 128, 8  # a block's threads for binomial numbers, and how many elements one of them has


def standard_gamma(xp: Any, alpha: Array, generator: GPUGenerator) -> Array:
    """Gamma numbers of shape α (Marsaglia and Tsang 2000, doi:10.1145/358407.358414), a thread for each."""
    if not is_floating(alpha.dtype):
        raise not_implemented(alpha.dtype, "gamma_cuda")
    kind = np.float64 if alpha.dtype == np.float64 else np.float32
    numbers = _gamma(xp, alpha.reshape(-1).astype(kind), generator.streams(xp, alpha.size, 10))
    tiny = float(np.finfo(np.float32 if alpha.dtype.itemsize == 2 else alpha.dtype).tiny)
    return xp.maximum(numbers, numbers.dtype.type(tiny)).astype(alpha.dtype).reshape(alpha.shape)


def _gamma(xp: Any, alpha: Array, streams: Streams) -> Array:
    one = alpha.dtype.type(1)
    small, scale = xp.flatnonzero(alpha < 1), xp.ones_like(alpha)
    scale[small] = (one - streams.uniforms(small).astype(alpha.dtype)) ** (one / alpha[small])
    d = xp.where(alpha < 1, alpha + one, alpha) - alpha.dtype.type(np.float32(1) / np.float32(3))
    c = one / xp.sqrt(alpha.dtype.type(9) * d)
    numbers, waiting = xp.zeros_like(alpha), xp.flatnonzero(alpha != 0)
    second, has_second = xp.zeros_like(alpha), xp.zeros(alpha.shape, "bool")
    while waiting.size:
        drawing = waiting[~has_second[waiting]]
        first, rest = (each.astype(alpha.dtype) for each in streams.pairs(drawing))
        x = second[waiting]
        x[~has_second[waiting]] = first
        second[drawing] = rest
        has_second[waiting] = ~has_second[waiting]
        y = one + c[waiting] * x
        tried = waiting[y > 0]
        x, v = x[y > 0], y[y > 0] ** 3
        u, square = one - streams.uniforms(tried).astype(alpha.dtype), x * x
        squeezed = u < one - alpha.dtype.type(np.float32(0.0331)) * square * square
        exactly = xp.log(u) < square / 2 + d[tried] * (one - v + xp.log(v))
        accepted = squeezed | exactly
        numbers[tried[accepted]] = (scale[tried] * d[tried] * v)[accepted]
        waiting = xp.concatenate([waiting[y <= 0], tried[~accepted]])
    return numbers


def dirichlet(xp: Any, alpha: Array, generator: GPUGenerator) -> Array:
    """Gamma numbers over their sum along the last axis, inside (0, 1)."""
    gamma = standard_gamma(xp, alpha, generator)
    limits = np.finfo(alpha.dtype)
    shares = gamma / gamma.sum(axis=-1, keepdims=True)
    return xp.clip(shares, limits.tiny, 1 - limits.eps)


def poisson(xp: Any, rate: Array, generator: GPUGenerator) -> Array:
    """Poisson numbers, a thread for each.

    Below a rate of 64 a product of uniform numbers (Knuth, TAOCP vol. 2, 3.4.1), above 4000 rounded normal numbers,
    between them rejection from an approximation of the distribution.
    """
    if not is_floating(rate.dtype):
        raise not_implemented(rate.dtype, "poisson_cuda")
    flat, streams = rate.reshape(-1).astype("float64"), generator.streams(xp, rate.size, 20)
    numbers, single = xp.zeros(flat.shape), flat.astype("float32")
    waiting = xp.flatnonzero(flat < SMALL_RATE)
    product = xp.exp(single)
    while waiting.size:
        product[waiting] *= streams.uniforms(waiting)
        waiting = waiting[product[waiting] > 1]
        numbers[waiting] += 1
    large = xp.flatnonzero(flat > LARGE_RATE)
    normal = streams.pairs(large, True)[0]
    numbers[large] = xp.floor(normal * xp.sqrt(flat[large]) + flat[large] + 0.5)
    _poisson_between(xp, single, streams, numbers)
    return numbers.astype(rate.dtype).reshape(rate.shape)


def _poisson_between(xp: Any, rate: Array, streams: Streams, numbers: Array) -> None:
    """The distribution function is taken for (1 + exp(a (λ − x) − b))⁻² with a and b that depend on λ."""
    waiting = xp.flatnonzero((rate >= SMALL_RATE) & (rate <= LARGE_RATE))
    while waiting.size:
        mean = rate[waiting]
        a, b = (factor / xp.sqrt(mean - shift) + rest for factor, shift, rest in (SLOPE, MIDDLE))
        logit = xp.log(1 / xp.sqrt(streams.uniforms(waiting)) - np.float32(1))
        x = xp.floor(mean - (b + logit) / a)
        share = [(1 + xp.exp(a * (mean - each) - b)) ** np.float32(-2) for each in (x + np.float32(1), x)]
        proposed = (share[0] - share[1]) * np.float32(1.3)
        log_probability = x * xp.log(mean) - mean - lgamma(xp, (x + 1).astype("float64")).astype("float32")
        accepted = (streams.uniforms(waiting) * proposed < xp.exp(log_probability)) & (proposed >= 1e-20)
        numbers[waiting[accepted]] = x[accepted]
        waiting = waiting[~accepted]


def binomial(xp: Any, count: Any, prob: Any, generator: GPUGenerator) -> Array:
    """Binomial numbers, by the algorithms of the CPU: see `sampling.binomial`.

    A thread has eight elements, 128 apart, and draws for one after the other. They are computed on the CPU.
    """
    check(count, prob)
    n, p = np.broadcast_arrays(count.get(), prob.get())
    kind = np.float64 if n.dtype == np.float64 else np.float32
    trials, probability = (each.reshape(-1).astype(kind) for each in (n, p))
    streams = generator.streams(np, BLOCK * -(-n.size // (BLOCK * EACH)), 42)
    made = np.empty(n.size, kind)
    element = np.arange(n.size)
    for turn in range(EACH):
        mine = np.flatnonzero(element // BLOCK % EACH == turn)
        threads = mine // (BLOCK * EACH) * BLOCK + mine % BLOCK
        made[mine] = _binomial(trials[mine], probability[mine], streams, threads)
    return xp.asarray(made.astype(n.dtype).reshape(n.shape))


def _binomial(count: Array, prob: Array, streams: Streams, threads: Array) -> Array:
    rarer = np.where(prob <= 0.5, prob, 1 - prob)
    drawn, made = (count > 0) & (prob > 0) & (prob < 1), np.where(np.isnan(count) | np.isnan(prob), np.nan, 0)
    for method, chosen in ((_transformed, count * rarer >= 10), (_inverted, ~(count * rarer >= 10))):
        who = np.flatnonzero(drawn & chosen)
        made[who] = method(count[who], rarer[who], streams, threads[who])
    return np.where((prob > 0.5) & (count > 0), count - made, made)


def _uniforms(streams: Streams, threads: Array, kind: type) -> Array:
    """Numbers in [0, 1) of 24 bits."""
    return (streams.words(threads) & np.uint64(0xFFFFFF)).astype(kind) * kind(2.0**-24)


def _inverted(count: Array, prob: Array, streams: Streams, threads: Array) -> Array:
    made, trials, log_failure = np.zeros_like(count), np.zeros_like(count), np.log1p(-prob)
    waiting = np.arange(count.size)
    while waiting.size:
        u = _uniforms(streams, threads[waiting], count.dtype.type)
        trials[waiting] += np.ceil(np.log(u) / log_failure[waiting])
        waiting = waiting[trials[waiting] <= count[waiting]]
        made[waiting] += 1
    return made


def _transformed(count: Array, prob: Array, streams: Streams, threads: Array) -> Array:
    kind = count.dtype.type
    deviation = np.sqrt(count * prob * (1 - prob)).astype(np.float64)
    b = (1.15 + 2.53 * deviation).astype(kind)
    a = (-0.0873 + 0.0248 * b.astype(np.float64) + 0.01 * prob).astype(kind)
    centre, quick = count * prob + kind(0.5), (0.92 - 4.2 / b.astype(np.float64)).astype(kind)
    odds, scale = prob / (1 - prob), ((2.83 + 5.1 / b.astype(np.float64)) * deviation).astype(kind)
    m = np.floor((count + 1) * prob)
    made, waiting = np.empty_like(count), np.arange(count.size)
    while waiting.size:
        u, v = (_uniforms(streams, threads[waiting], kind) for _ in range(2))
        n, a_, b_, m_, r = (each[waiting] for each in (count, a, b, m, odds))
        u -= kind(0.5)
        us = kind(0.5) - np.abs(u)
        steep = (2 * a_ / us + b_).astype(np.float64)
        k = np.floor((steep * u + centre[waiting]).astype(kind))  # rounded once, as a GPU does it
        bound = (
            (m_ + 0.5) * np.log((m_ + 1) / (r * (n - m_ + 1)))
            + (n + 1) * np.log((n - m_ + 1) / (n - k + 1))
            + (k + 0.5) * np.log(r * (n - k + 1) / (k + 1))
            + (stirling_rests(m_) + stirling_rests(n - m_) - stirling_rests(k) - stirling_rests(n - k))
        )
        accepted = (us >= 0.07) & (v <= quick[waiting]) | (np.log(v * scale[waiting] / (a_ / (us * us) + b_)) <= bound)
        accepted &= (k >= 0) & (k <= n)
        made[waiting[accepted]] = k[accepted]
        waiting = waiting[~accepted]
    return made
