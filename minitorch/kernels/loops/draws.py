"""The loops of `kernels/sampling`: mt19937 and what is made of its draws.

The generator's 624 words are renewed all at once, which takes vector instructions, instead of one with each draw.
Source: Matsumoto and Nishimura 1998, doi:10.1145/272991.272995
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from minitorch.arrays import Array
from minitorch.arrays.loops import are_contiguous, have_rows
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.threads import by_parts
from minitorch.kernels.sampling import box_muller
from minitorch.random import FEW

if TYPE_CHECKING:
    from minitorch.random import Generator

WORDS: Final = 624
AHEAD: Final = 397
TWIST: Final = np.uint32(0x9908B0DF)
HIGH, LOW = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
ONE, SEVEN, ELEVEN, FIFTEEN, EIGHTEEN = map(np.uint32, (1, 7, 11, 15, 18))
MASKS: Final = np.uint32(0x9D2C5680), np.uint32(0xEFC60000)
BLOCK: Final = 1024


def draw(out: Array, generator: Generator) -> bool:
    """Draws of 32 bits, or float32 numbers of 24 or float64 numbers of 53 bits in [0, 1)."""
    if out.size < FEW or not out.flags.carray:  # the call of a loop, and the lock, take longer than few draws
        return False
    state = generator.memory
    with generator.engine.lock:
        done: bool = {"I": _words, "f": _singles, "d": _doubles}[out.dtype.char](out, state)
    return done


@compiled
def twisted(upper: Any, lower: Any, other: Any) -> Any:
    y = (upper & HIGH) | (lower & LOW)
    return other ^ (y >> ONE) ^ (TWIST * (y & ONE))


@compiled
def renew(state: Array) -> None:
    for i in range(WORDS - AHEAD):
        state[i] = twisted(state[i], state[i + 1], state[i + AHEAD])
    for i in range(WORDS - AHEAD, WORDS - 1):
        state[i] = twisted(state[i], state[i + 1], state[i + AHEAD - WORDS])
    state[WORDS - 1] = twisted(state[WORDS - 1], state[0], state[AHEAD - 1])


@compiled
def fill(out: Array, state: Array) -> None:
    """The next draws. The state's last word says how many of the others have been drawn."""
    used: Any = np.int64(state[WORDS])
    done = 0
    while done < out.size:
        if used >= WORDS:
            renew(state)
            used = 0
        count = min(WORDS - used, out.size - done)
        fresh, into = state[used : used + count], out[done : done + count]  # which have no negative indices to look for
        for i in range(count):
            y = fresh[i]
            y ^= y >> ELEVEN
            y ^= (y << SEVEN) & MASKS[0]
            y ^= (y << FIFTEEN) & MASKS[1]
            into[i] = y ^ (y >> EIGHTEEN)
        used += count
        done += count
    state[WORDS] = used


@compiled
def _words(out: Array, state: Array) -> bool:
    fill(out, state)
    return True


@compiled
def _singles(out: Array, state: Array) -> bool:
    words = np.empty(BLOCK, np.uint32)
    for start in range(0, out.size, BLOCK):
        count = min(BLOCK, out.size - start)
        fill(words[:count], state)
        into = out[start : start + count]
        for i in range(count):
            into[i] = np.float32(np.int32(words[i] & np.uint32(0xFFFFFF))) * np.float32(2**-24)
    return True


@compiled
def _doubles(out: Array, state: Array) -> bool:
    words = np.empty(2 * BLOCK, np.uint32)
    for start in range(0, out.size, BLOCK):
        count = min(BLOCK, out.size - start)
        fill(words[: 2 * count], state)
        into = out[start : start + count]
        for i in range(count):
            high = np.int64(words[2 * i] & np.uint32(0x1FFFFF))
            into[i] = np.float64(high << 32 | np.int64(words[2 * i + 1])) * 2.0**-53
    return True


def exchange(numbers: Array, draws: Array) -> bool:
    """Each number in turn with one that its draw names, of those behind it and itself."""
    return _exchange(numbers, draws)


@compiled
def _exchange(numbers: Array, draws: Array) -> bool:
    for i in range(draws.size):
        partner = i + np.int64(draws[i] % np.uint32(numbers.size - i))
        numbers[i], numbers[partner] = numbers[partner], numbers[i]
    return True


def choose(indices: Array, weights: Array, uniform: Array) -> bool:
    """The categories where the weights' share of their sum reaches each of a row's uniform numbers."""
    arrays = weights, indices, uniform
    return have_rows(weights) and are_contiguous(indices, uniform) and by_parts(_choose, arrays)


@compiled
def _choose(weights: Array, indices: Array, uniform: Array) -> bool:
    shares = np.empty_like(weights[0])
    for i in range(len(weights)):
        row, total = weights[i], weights.dtype.type(0)
        for j in range(row.size):
            total += row[j]
            shares[j] = total
        for j in range(row.size):
            shares[j] /= total
        for k in range(uniform.shape[1]):
            low, high = 0, shares.size
            while low < high:
                middle = (low + high) // 2
                if shares[middle] < uniform[i, k]:
                    low = middle + 1
                else:
                    high = middle
            indices[i, k] = low
    return True


def normal_groups(values: Array) -> bool:
    """Of each group of sixteen uniform numbers, sixteen normal ones, in their place."""
    return by_parts(_normal_groups, [values.reshape(-1, 16)])


LOG, SIN, COS = (tuple(each) for each in (box_muller.LOG, box_muller.SIN, box_muller.COS))
LN2_HIGH, LN2_LOW = box_muller.LN2
QUARTER_PI = tuple(box_muller.QUARTER_PI)
FOUR_OVER_PI, TWO_PI, SQRT_HALF_BITS = box_muller.FOUR_OVER_PI, box_muller.TWO_PI, box_muller.SQRT_HALF_BITS
MANTISSA_BITS: Final = np.int32(box_muller.MANTISSA_BITS)
I1, I2, I4, I29 = map(np.int32, (1, 2, 4, 29))
F1, F2, HALF = map(np.float32, (1, 2, 0.5))


@compiled
def multiply_add(a: Any, b: Any, c: Any) -> Any:
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


@compiled
def logarithm(u: Any) -> Any:
    bits = np.float32(u).view(np.int32)
    exponent = np.int32(np.int32(bits - SQRT_HALF_BITS) >> MANTISSA_BITS)
    x = np.int32(bits - (exponent << MANTISSA_BITS)).view(np.float32) - F1
    e = np.float32(exponent)
    square = x * x
    p = multiply_add(x, LOG[0], LOG[1])
    for k in range(2, 9):
        p = multiply_add(p, x, LOG[k])
    y = multiply_add(p * x, square, e * LN2_LOW) - HALF * square
    return (x + y) + e * LN2_HIGH


@compiled
def transform(u1: Array, u2: Array) -> None:
    """Pairs of normal numbers, radius · cosine and radius · sine, as `box_muller` computes them."""
    for k in range(u1.size):
        radius = math.sqrt(-F2 * logarithm(F1 - u1[k]))
        angle = TWO_PI * u2[k]
        octant = np.int32((np.int32(angle * FOUR_OVER_PI) + I1) & ~I1)
        j = np.float32(octant)
        x = multiply_add(j, -QUARTER_PI[2], (angle - j * QUARTER_PI[0]) - j * QUARTER_PI[1])
        square = x * x
        p = multiply_add(multiply_add(square, SIN[0], SIN[1]), square, SIN[2])
        sine = np.float32(multiply_add(p * square, x, x)).view(np.int32)
        p = multiply_add(multiply_add(square, COS[0], COS[1]), square, COS[2])
        cosine = np.float32(multiply_add(p * square, square, -HALF * square) + F1).view(np.int32)
        swap = (sine ^ cosine) & -((octant >> I1) & I1)
        sine ^= swap ^ np.int32((octant & I4) << I29)
        cosine ^= swap ^ np.int32((np.int32(octant + I2) & I4) << I29)
        u1[k] = radius * np.int32(cosine).view(np.float32)
        u2[k] = radius * np.int32(sine).view(np.float32)


@compiled
def _normal_groups(groups: Array) -> bool:
    u1, u2 = np.empty(BLOCK, groups.dtype), np.empty(BLOCK, groups.dtype)
    some = BLOCK // 8
    for start in range(0, len(groups), some):
        count = min(some, len(groups) - start)
        for i in range(count):
            for j in range(8):
                u1[8 * i + j], u2[8 * i + j] = groups[start + i, j], groups[start + i, 8 + j]
        transform(u1[: 8 * count], u2[: 8 * count])
        for i in range(count):
            for j in range(8):
                groups[start + i, j], groups[start + i, 8 + j] = u1[8 * i + j], u2[8 * i + j]
    return True
