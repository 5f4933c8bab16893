"""Poisson numbers: many of them by NumPy's sampler, on PyTorch's uniform numbers.

How many uniform numbers an element takes depends on their values, so that one element comes after the other, which in
Python is slow. NumPy's loop is compiled. PyTorch took its two algorithms from NumPy, where they stay as they are:
`RandomState` is frozen, https://numpy.org/neps/nep-0019-rng-policy.html. But NumPy makes other uniform numbers of its
Mersenne Twister's words.

So it gets a twister of its own that is made to say PyTorch's. What a twister puts out are the 624 words of its state,
each put through the tempering: shifts and exclusive ors that can be undone. The inverse makes of any 624 words a state
whose next outputs these are, and the state's position tells afterwards how many of them NumPy has read.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from minitorch.kernels.sampling.ahead import draw_ahead
from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.fill import convert, require_floating
from minitorch.kernels.sampling.rejection import LARGE_RATE, poisson_sample
from minitorch.random import WORDS, Generator, memory_of

MANY: Final = 16  # elements for which it is worth while to start NumPy's sampler
LARGEST: Final = 2.0**63 - 2**36  # the rate up to which NumPy's numbers fit into int64
TRIALS: Final = 2.5  # uniform numbers that a rate from LARGE_RATE on takes on average, rather too many than too few
ROOM: Final = 280  # uniform numbers that elements which go to NumPy together are expected to take; 312 are there


def poisson(rate: Array, generator: Generator) -> Array:
    """Poisson numbers of the given rates λ: P(k) = λᵏ exp(−λ)/k!, in the rates' dtype.

    Raises RuntimeError for a negative rate, NotImplementedError for a dtype that isn't floating point.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.poisson.html
    """
    require_floating(rate.dtype, "poisson_cpu")
    if not np.all(rate >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    rates = rate.astype(np.float64).ravel()
    if rates.size < MANY or rates.max() > LARGEST:
        numbers = np.array([poisson_sample(each, generator) for each in rates.tolist()], np.float64)
    else:
        numbers = draw_ahead(_numbers, generator, rates)
    return convert(numbers.reshape(rate.shape), rate.dtype)


@cache
def _replaying() -> tuple[np.random.RandomState, Array]:
    """NumPy's sampler, and the state of its twister in place."""
    twister = np.random.MT19937(0)
    return np.random.RandomState(twister), memory_of(twister)


def _numbers(uniform: Array, rate: Array) -> tuple[Array, int]:
    """Numbers for as many of the rates as the uniform numbers suffice for, and how many of these they took."""
    sampler, memory = _replaying()
    states = _states(uniform)
    expected = np.cumsum(np.where(rate < LARGE_RATE, rate + 1, TRIALS))
    all_alike = rate.min() == rate.max()
    numbers = np.empty(rate.size, np.int64)
    done, used, room = 0, 0, ROOM
    while done < rate.size:
        stop = int(expected.searchsorted((expected[done - 1] if done else 0) + room, "right"))
        stop = max(stop, done + 1)
        state = states[2 * used : 2 * used + WORDS]
        memory[: state.size], memory[WORDS] = state, 0
        numbers[done:stop] = sampler.poisson(rate[0], stop - done) if all_alike else sampler.poisson(rate[done:stop])
        read = int(memory[WORDS])
        if read <= state.size and memory[: state.size].tobytes() == state.tobytes():
            done, used, room = stop, used + read // 2, ROOM
        elif stop > done + 1:  # NumPy read further than the state that it was given: once more, with fewer elements
            room //= 2
        else:
            break
    return numbers[:done], used


def _states(uniform: Array) -> Array:
    """The words of a twister from which NumPy makes these numbers: 27 bits of one output and 26 of the next one."""
    bits = (uniform * 2.0**53).astype(np.uint64)
    outputs = np.stack([bits >> np.uint64(26) << np.uint64(5), bits << np.uint64(6)], axis=1).astype(np.uint32)
    return _untempered(outputs.ravel())


def _untempered(outputs: Array) -> Array:
    """The words of which the outputs are the tempered ones: Matsumoto and Nishimura's four steps, the last one first.

    y = x ^ (x << s & mask) gives the lowest s bits of x; from those follow the next s, and so on.
    """
    words = outputs ^ outputs >> 18
    words ^= words << 15 & 0xEFC60000
    shifted = words
    for _ in range(4):
        shifted = words ^ (shifted << 7 & 0x9D2C5680)
    return np.asarray(shifted ^ shifted >> 11 ^ shifted >> 22)
