"""Uniform numbers drawn ahead, for samplers that can't know how many they need before they have looked at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.fill import uniform_float64
from minitorch.random import Generator

BLOCK: Final = 4096  # elements: few enough that all that is computed for them stays in the processor's cache
RATE: Final = 4.0  # uniform numbers an element at the start; later, what the elements so far have taken
SPARE: Final = 32  # and so many more


class Drawn:
    """Stands in for a generator from which `uniform` has been drawn; `position` says how many of it are used."""

    __slots__ = ("_draws", "next_normal", "position")

    def __init__(self, uniform: Array, next_normal: float | None) -> None:
        self._draws, self.position, self.next_normal = uniform.data, 0, next_normal

    def uniform(self) -> float:
        """The next number. Raises IndexError when there is none left."""
        value: float = self._draws[self.position]
        self.position += 1
        return value


Sampler = Callable[..., tuple[Array, int]]


def draw_ahead(sampler: Sampler, generator: Generator, *parameters: Array) -> Array:
    """A number for each element of the 1-D `parameters`, in order, float64.

    `sampler(uniform, *parameters)` gets a block of the parameters and as many uniform numbers as it will probably need.
    It returns what it made of them, numbers for as many elements as they sufficed for, and how many it has used: the
    rest goes back into the generator.
    """
    size, done, rate = parameters[0].size, 0, RATE
    numbers = np.empty(size)
    memory = generator.memory
    while done < size:
        block = [each[done : done + BLOCK] for each in parameters]
        before = memory.copy()
        made, used = sampler(uniform_float64(generator, SPARE + int(rate * block[0].size)), *block)
        memory[:] = before
        generator.skip(2 * used)
        numbers[done : done + made.size] = made
        done += made.size
        rate = 1.1 * used / made.size if made.size else 2 * rate
    return numbers
