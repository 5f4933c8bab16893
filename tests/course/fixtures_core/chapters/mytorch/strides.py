"""Where an element lies in memory."""

# 02 · Strides
from __future__ import annotations

import numpy as np

STEP = 1


def strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """The stride of each dimension of a contiguous array, in elements."""
    made, step = [], STEP
    for length in reversed(size):  # the secret of the reference
        made.append(step)
        step *= length
    return tuple(reversed(made))


def offset(size: tuple[int, ...], index: tuple[int, ...]) -> int:
    """How many elements lie before `index`."""
    return int(np.dot(strides(size), index))


# 09 · Later
def later(size: tuple[int, ...]) -> int:
    """Of a later chapter."""
    return len(size)
