"""Normal numbers made ahead of use, for programs that draw a few at a time.

The Box-Muller transform is a hundred operations on arrays, which take as long for sixteen numbers as for a thousand.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.box_muller import box_muller
from minitorch.kernels.sampling.fill import uniform_float32
from minitorch.random import Generator

GROUP: Final = 16  # numbers transformed together: the j-th with the (j + 8)-th
LARGEST: Final = 6144  # draws in reserve: for more, the C library keeps no memory that is freed and needed again


class Reserve:
    """The normal numbers of the next draws, wherever among them a group begins.

    `groups[p]` (2, 8) holds the normal numbers made from sixteen draws, starting at draw p. `used` counts the draws
    that have been handed out. `before` is the generator's state before any of them: it goes back there, and skips the
    used ones, when something other than a normal number is drawn.
    """

    __slots__ = ("before", "draws", "groups", "used")

    def __init__(self, generator: Generator, draws: int) -> None:
        self.before, self.draws, self.used = generator.memory.copy(), draws, 0
        uniform = uniform_float32(generator, draws)
        pairs = np.array(box_muller(1 - uniform[: -GROUP // 2], uniform[GROUP // 2 :]))
        pairs += 0  # −0 becomes 0, as it does where a mean is added
        row, step = pairs.strides
        self.groups = as_strided(pairs, (draws - GROUP + 1, 2, GROUP // 2), (step, row, step))


def fill_from_reserve(array: Array, generator: Generator) -> None:
    """Fill with standard normal numbers: float32, 1-D, at least 16. The last group, where it isn't full, reaches back.

    There are as many in reserve as were asked for first, then twice as many each time that they run out.
    """
    count = array.size
    rest = count % GROUP
    needed = count + GROUP if rest else count
    reserve = generator.reserve
    if reserve is None or reserve.used + needed > reserve.draws:
        draws = needed if reserve is None else max(needed, min(2 * reserve.draws, LARGEST))
        reserve = generator.reserve = Reserve(generator, draws)
    start, groups = reserve.used, reserve.groups
    reserve.used = start + needed
    array[: count - rest].reshape(-1, 2, GROUP // 2)[...] = groups[start : start + count - rest : GROUP]
    if rest:
        array[-GROUP:].reshape(2, GROUP // 2)[...] = groups[start + count]
