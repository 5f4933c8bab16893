"""Gamma numbers and their shares, Dirichlet numbers.

`gamma_sample` shows the algorithm. It draws normal numbers in pairs and accepts them nearly always, mostly for a reason
that has nothing to do with the shape α. So from a new pair on two elements usually take a half of the pair each: of the
uniform numbers [s] u₁ u₂ a [s] b the pair is made of u₁ and u₂, a and b are what its halves are compared with, and s is
there for α < 1. Whether that holds is worked out for a pair at each position of a block, all at once. What is left to a
loop is to go from pair to pair, and to look closer where it doesn't hold, at one pair in five.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from minitorch.kernels.sampling.ahead import Drawn, draw_ahead
from minitorch.kernels.sampling.arithmetic import Array, elementary
from minitorch.kernels.sampling.fill import not_implemented
from minitorch.kernels.sampling.rejection import SQUEEZE, GammaParameters, gamma_accepts, gamma_sample
from minitorch.random import Generator

MANY: Final = 16  # elements from which on the block is worth its start
# The bits of `_quick`: the first half of the pair, and the second, which is compared with the number after the first's
# or, in the bit above, with the one after that.
FIRST: Final = 1
SECOND: Final = 2
MARGIN: Final = np.float32(1e-4)  # more than the rounding errors of x⁴ where it matters


def standard_gamma(alpha: Array, generator: Generator) -> Array:
    """Gamma numbers of shape α and scale 1: density x^(α − 1) exp(−x)/Γ(α). float32 or float64, never less than tiny.

    Raises NotImplementedError for other dtypes.
    """
    if alpha.dtype not in (np.float32, np.float64):
        raise not_implemented(alpha.dtype, "gamma_cpu")
    return _gamma(alpha, generator, alpha.dtype)


def dirichlet(alpha: Array, generator: Generator) -> Array:
    """Dirichlet numbers of concentrations α along the last axis: gamma numbers over their sum, inside (0, 1).

    Raises NotImplementedError unless the dtype is float32 or float64.
    Source: https://docs.pytorch.org/docs/stable/distributions.html#dirichlet
    """
    if alpha.dtype not in (np.float32, np.float64):
        raise not_implemented(alpha.dtype, "dirichlet")
    gamma = _gamma(alpha.astype(np.float64), generator, alpha.dtype)
    shares = (gamma / gamma.sum(axis=-1 if gamma.ndim else None, keepdims=True)).astype(alpha.dtype)
    one, zero = alpha.dtype.type(1), alpha.dtype.type(0)
    return np.asarray(np.clip(shares, np.finfo(alpha.dtype).tiny, np.nextafter(one, zero)))


def _gamma(alpha: Array, generator: Generator, dtype: np.dtype[Any]) -> Array:
    """Gamma numbers in the dtype of alpha, as precise as `dtype` needs them."""
    elements = GammaParameters.of(alpha.ravel())
    if alpha.size < MANY:
        each = zip(*(constants.tolist() for constants in elements), strict=True)
        numbers = np.array([gamma_sample(a, power, c, d, generator) for a, power, c, d in each], np.float64)
    else:
        numbers = draw_ahead(
            lambda uniform, *block: _numbers(uniform, GammaParameters(*block), generator, dtype), generator, *elements
        )
    return np.asarray(np.fmax(numbers.astype(alpha.dtype).reshape(alpha.shape), np.finfo(alpha.dtype).tiny))


def _numbers(
    uniform: Array, elements: GammaParameters, generator: Generator, dtype: np.dtype[Any]
) -> tuple[Array, int]:
    """Numbers for as many elements as the uniform numbers suffice for, and how many of these they took."""
    draws = uniform.data
    alpha, power, c, d = (constants.data for constants in elements)
    size = elements.alpha.size
    small = (elements.alpha < 1).astype(np.uint8)  # how many uniform numbers come before an element's first trial
    before, between = small.tobytes(), np.append(small[1:], np.uint8(0))
    step, needed, quick = (4 + between).tobytes(), (FIRST | np.uint8(SECOND) << between).tobytes(), _quick(uniform)
    # For α > 0 what the quick test accepts has 1 + cx > 0. Other α go their own ways, one element at a time.
    last = 0 if np.any(elements.alpha <= 0) else size - 1

    def accepts(element: int, half: Callable[[float], float], pair: int, position: int) -> bool:
        x = math.sqrt(-2 * math.log1p(-draws[pair + 1])) * half(2 * math.pi * draws[pair])
        return 1 + c[element] * x > 0 and gamma_accepts(x, draws[position], c[element], d[element])

    numbers, paired = np.empty(size), np.ones(size, np.bool_)
    pairs: list[int] = []  # where those start of which both halves were accepted
    source = Drawn(uniform, generator.next_normal)
    element, used, waiting = 0, 0, generator.next_normal
    try:
        while element < size:
            while waiting is None and element < last:
                pair, wanted = used + before[element], needed[element]
                accepted = quick[pair] & wanted
                if accepted != wanted and not (
                    (accepted & FIRST or accepts(element, math.cos, pair, pair + 2))
                    and (accepted > FIRST or accepts(element + 1, math.sin, pair, pair + step[element] - 1))
                ):
                    break
                pairs.append(pair)
                used = pair + step[element]
                element += 2
            if element < size:
                source.position = used
                numbers[element] = gamma_sample(alpha[element], power[element], c[element], d[element], source)
                paired[element] = False
                element, used, waiting = element + 1, source.position, source.next_normal
    except IndexError:  # the uniform numbers have run out: this element waits for the next block
        pass
    generator.next_normal = waiting
    firsts = np.flatnonzero(paired[:element])[::2]
    halves = np.stack([firsts, firsts + 1])
    numbers[halves] = _of_pairs(
        uniform, np.array(pairs, np.int64), GammaParameters(*(each[halves] for each in elements)), dtype
    )
    return numbers[:element], used


def _quick(uniform: Array) -> bytes:
    """Which halves of a pair at each position are accepted by the part of the test that doesn't need α.

    In float32, which is faster: a half that is accepted by less than MARGIN is left to a closer look.
    """
    single = uniform.astype(np.float32)
    square = -2 * np.log((1 - uniform[1:-3]).astype(np.float32))
    first = square * np.cos(np.float32(2 * np.pi) * single[:-4]) ** 2
    second = square - first
    bound = np.float32(SQUEEZE) * second * second + MARGIN
    accepted = (single[2:-2] > np.float32(SQUEEZE) * first * first + MARGIN) * np.uint8(FIRST)
    accepted |= (single[3:-1] > bound) * np.uint8(SECOND)
    accepted |= (single[4:] > bound) * np.uint8(SECOND << 1)
    return accepted.tobytes()


def _of_pairs(uniform: Array, pairs: Array, elements: GammaParameters, dtype: np.dtype[Any]) -> Array:
    """The numbers of elements of which two, a column, take the halves of the pair that starts at each of `pairs`."""
    radius, angle = np.sqrt(-2 * elementary("log1p", -uniform[pairs + 1], dtype)), 2 * np.pi * uniform[pairs]
    y = 1 + elements.c * (radius * np.stack([np.cos(angle), np.sin(angle)]))
    small = elements.alpha < 1
    scaled, u = elements.d, 1 - uniform[np.stack([pairs - 1, pairs + 3])[small]]
    scaled[small] *= elementary("pow", u, dtype, elements.power[small])
    return np.asarray(scaled * (y * y * y))
