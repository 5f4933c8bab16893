"""The samplers on a GPU, by the names that they have on the CPU: Philox's numbers put through PyTorch's formulas.

Those here draw a fixed number of words for each element; `rejection_on_gpu` has the others. docs/random.md says which
words an element gets, and which of the numbers were compared with a GPU's.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cuda/DistributionTemplates.h
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.dtypes import type_name
from minitorch.kernels import philox
from minitorch.kernels.sampling import discrete
from minitorch.kernels.sampling.arithmetic import Array, multiply_add_float64
from minitorch.kernels.sampling.fill import in_memory, is_floating
from minitorch.kernels.sampling.multinomial import check
from minitorch.random import Generator

if TYPE_CHECKING:
    from minitorch.gpu_generator import GPUGenerator

LARGEST_GRID = 65535  # blocks of a grid's second dimension
SCRATCH = Generator()


def check_parameters(sampler: Callable[..., None], array: Array, parameters: tuple[Any, ...]) -> None:
    """Raises what the CPU's sampler raises of these parameters, where the one here doesn't do it itself."""
    if sampler not in (discrete.random_, discrete.randperm_) and not any(hasattr(each, "dtype") for each in parameters):
        sampler(np.empty(min(array.size, 1), array.dtype), SCRATCH, *parameters)


def _fill(xp: Any, array: Array, generator: GPUGenerator, kind: philox.Kind, formula: Callable[[Array], Array]) -> None:
    """Puts formula(numbers) into the array, first into the elements that lie first in memory.

    The numbers are float64 for a float64 array, else float32. Complex numbers are made of two.
    """
    parts = 2 if array.dtype.kind == "c" else 1
    wide = array.dtype.itemsize == 8 * parts and array.dtype.kind in "fc"
    numbers = formula(generator.draw(xp, parts * array.size, kind, wide))
    _put(array, numbers.view(array.dtype) if parts == 2 else numbers)


def _put(array: Array, numbers: Array) -> None:
    view = in_memory(array)
    view[...] = numbers.reshape(view.shape).astype(array.dtype)


def _affine(numbers: Array, scale: float, shift: float) -> Array:
    """numbers · scale + shift, rounded once, as a GPU's fused multiply-add does it."""
    kind = numbers.dtype.type
    if numbers.dtype == np.float64:
        return multiply_add_float64(numbers, kind(scale), kind(shift)) if scale != 1 else numbers + kind(shift)
    product = numbers.astype("float64") * float(kind(scale))
    return (product + float(kind(shift))).astype(numbers.dtype)


def uniform_(xp: Any, array: Array, generator: GPUGenerator, low: float = 0, high: float = 1) -> None:
    """low + (high − low)·u with u in (0, 1]. What is then `high` becomes `low`."""
    part = array.real.dtype
    bottom, top = part.type(low), part.type(high)

    def formula(u: Array) -> Array:
        values = _affine(u, float(top - bottom), float(bottom)).astype(part)
        return xp.where(values == top, bottom, values)

    _fill(xp, array, generator, "uniform", formula)


def normal_(xp: Any, array: Array, generator: GPUGenerator, mean: float = 0, std: float = 1) -> None:
    """mean + std·z; the parts of complex numbers have std/√2."""
    spread = std / 2**0.5 if array.dtype.kind == "c" else std
    _fill(xp, array, generator, "normal", lambda z: _affine(z, spread, mean))


def normal(xp: Any, mean: Array | float, std: Array | float, generator: GPUGenerator) -> Array:
    """z·std + mean, element by element."""
    like = mean if hasattr(mean, "dtype") else std
    made = xp.empty(np.broadcast_shapes(np.shape(mean), np.shape(std)), like.dtype)
    normal_(xp, made, generator)
    return (made * std).astype(made.dtype) + mean


def log_normal_(xp: Any, array: Array, generator: GPUGenerator, mean: float = 1, std: float = 2) -> None:
    """exp(mean + std·z)."""
    _fill(xp, array, generator, "normal", lambda z: xp.exp(_affine(z, std, mean)))


def exponential_(xp: Any, array: Array, generator: GPUGenerator, lambd: float = 1) -> None:
    """−ln u / λ, where a u so near 1 that its logarithm rounds to 0 has −ε/2."""

    def formula(u: Array) -> Array:
        half = np.finfo(u.dtype).eps / u.dtype.type(2)
        return xp.where(u >= 1 - half, -half, xp.log(u)) * (u.dtype.type(-1) / u.dtype.type(lambd))

    _fill(xp, array, generator, "uniform", formula)


def cauchy_(xp: Any, array: Array, generator: GPUGenerator, median: float = 0, sigma: float = 1) -> None:
    """median + σ tan π(u − ½); float32 keeps ε away from the poles."""

    def formula(u: Array) -> Array:
        kind = u.dtype.type
        if u.dtype != np.float64:
            u = xp.clip(u, np.finfo(kind).eps, 1 - np.finfo(kind).eps)
        return _affine(xp.tan(kind(math.pi) * (u - kind(0.5))), sigma, median)

    _fill(xp, array, generator, "uniform", formula)


def geometric_(xp: Any, array: Array, generator: GPUGenerator, p: float) -> None:
    """⌈ln u / ln(1 − p)⌉."""
    _fill(xp, array, generator, "uniform", lambda u: xp.ceil(xp.log(u) / np.log1p(-u.dtype.type(p))))


def random_(xp: Any, array: Array, generator: GPUGenerator, low: int | None = None, high: int | None = None) -> None:
    """low + r mod (high − low), as on the CPU: r has 64 bits for a range from 2²⁸ on."""
    _put(array, discrete.integers(array.dtype, array.size, functools.partial(_bits, xp, generator), low, high))


def _bits(xp: Any, generator: GPUGenerator, count: int, width: int) -> Array:
    return generator.draw(xp, count, "integer", width > 32)


def bernoulli_(xp: Any, array: Array, generator: GPUGenerator, p: Array | float = 0.5) -> None:
    """1 where u < p. For an array p, 1 where u ≤ p, and a thread draws for four neighbours."""
    if not hasattr(p, "dtype"):
        _fill(xp, array, generator, "uniform", lambda u: u < u.dtype.type(p))
        return
    if not is_floating(p.dtype):
        raise RuntimeError(f"expected probabilities tensor to have floating type, got {type_name(p)}")
    kind = "float64" if array.dtype == np.float64 else "float32"
    probabilities = xp.broadcast_to(xp.asarray(p), array.shape).astype(kind)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    words = _one_step(xp, generator, -(-array.size // 4), 10)
    u = philox.uniforms(xp, [words.T.reshape(-1)[: array.size]], False)[0]
    array[...] = u.reshape(array.shape).astype(kind) <= probabilities


def _one_step(xp: Any, generator: GPUGenerator, count: int, words: int) -> Array:
    """The next four words (4, count) of `count` threads, whose generator goes on after `words`."""
    streams, threads = generator.streams(xp, count, words), xp.arange(count)
    return xp.stack([streams.words(threads) for _ in range(4)])


def dropout_mask(xp: Any, array: Array, generator: GPUGenerator, p: float, fused: bool = True) -> None:
    """0 with probability p, else 1 / (1 − p). Only a `fused` dropout has a kernel and an order of its own."""
    if p in (0, 1):
        array[...] = 1 - p
        return
    real = np.float64 if array.dtype == np.float64 else np.float32
    if not fused:
        bernoulli_(xp, array, generator, 1 - p)
        array *= array.dtype.type(real(1) / real(1 - p))
        return
    together = 16 // array.dtype.itemsize
    while array.size % together:
        together //= 2
    factors = xp.empty(array.size, real)
    generator.draw_noise(xp, factors, 1 - p, together)
    _put(array, factors)


def multinomial(xp: Any, probabilities: Array, num_samples: int, replacement: bool, generator: GPUGenerator) -> Array:
    """Without replacement, or of one sample, the largest p/q, q from `exponential_`. Else bisection in the shares."""
    one_by_one = check(probabilities, num_samples, replacement)
    if not len(probabilities):
        return xp.empty((0, num_samples), "int64")
    if one_by_one:
        rows = probabilities.reshape(-1, probabilities.shape[-1])
        return _with_replacement(xp, rows, num_samples, generator).reshape(*probabilities.shape[:-1], num_samples)
    scores = xp.empty_like(probabilities)
    exponential_(xp, scores, generator)
    scores = probabilities / scores
    if num_samples == 1:
        return xp.argmax(scores, axis=-1)[..., None]
    return xp.argsort(-scores, axis=-1)[..., :num_samples]


def _with_replacement(xp: Any, rows: Array, num_samples: int, generator: GPUGenerator) -> Array:
    """A block of 128 threads draws as many samples of a row, a thread one word each of four."""
    count, categories = rows.shape
    shares = rows / rows.sum(axis=1, keepdims=True)
    shares_up_to = xp.cumsum(shares, axis=1)
    together, width = min(count, LARGEST_GRID), 128 * -(-num_samples // 128)
    threads = xp.arange(together * width)
    rounds = -(-count // together)
    streams = generator.streams(xp, together * width, 4 * rounds)
    drawn = xp.concatenate([streams.uniforms(threads) for _ in range(4 * rounds)][::4])
    u = drawn.reshape(-1, width)[:count, :num_samples].astype(rows.dtype)
    start, end = xp.zeros(u.shape, "int64"), xp.full(u.shape, categories)
    for _ in range(categories.bit_length()):
        middle = (start + end) // 2
        above = xp.take_along_axis(shares_up_to, xp.minimum(middle, categories - 1), 1) < u
        start, end = xp.where(above & (start < end), middle + 1, start), xp.where(above, end, middle)
    last = categories - 1 - xp.argmax(shares[:, ::-1] > 0, axis=1)
    return xp.minimum(start, last[:, None])


def randperm_(xp: Any, array: Array, generator: GPUGenerator, n: int) -> None:
    """0 … n − 1, sorted by keys of so many bits that few are equal; those of equal keys are shuffled (Fisher-Yates)."""
    discrete.check_randperm(n, array.dtype)
    bits = min(64, math.ceil(math.log2(n - (6 * float(n) * n + 1) / (12 * math.log(0.9)))))
    half = 2 ** (31 if bits <= 32 else 63)
    keys = discrete.integers(np.dtype("int64"), n, functools.partial(_bits, xp, generator), -half, half - 1)
    if bits not in (32, 64):
        keys &= (1 << bits) - 1
    order = xp.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    streams = generator.streams(xp, n, n)
    for first, last in _islands(same.get()):
        for i in range(last - first, 0, -1):
            other = first + int(streams.words(xp.asarray([first]))[0]) % (i + 1)
            order[xp.asarray([first + i, other])] = order[xp.asarray([other, first + i])]
    array[...] = order.astype(array.dtype)


def _islands(same: Array) -> list[tuple[int, int]]:
    """The first and the last place of each run of places that are the same as the ones before."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
