"""PyTorch's kernels for random numbers, one thread after the other: what they and cuRAND do, without arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

BLOCKS = 2  # of 256 threads: so few that most tensors of the tests take several rounds
SEED, OFFSET = 2**40 + 7, 12


def scalar_philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c0, c1, c2, c3


class Thread:
    """cuRAND's state of one thread: `curand_init(seed, number, offset)`."""

    def __init__(self, number: int, seed: int = SEED, offset: int = OFFSET) -> None:
        self.number, self.seed, self.position = number, seed, offset
        self.second: float | None = None

    def word(self) -> int:
        step = self.position // 4
        counter = (step & 0xFFFFFFFF, step >> 32, self.number, 0)
        word = scalar_philox(counter, (self.seed & 0xFFFFFFFF, self.seed >> 32))[self.position % 4]
        self.position += 1
        return word

    def uniform(self) -> float:
        return single(single(self.word()) * 2.0**-32 + 2.0**-33)

    def uniform_double(self) -> float:
        low, high = self.word(), self.word()
        return (low ^ high << 21) * 2.0**-53 + 2.0**-54

    def normal_pair(self) -> tuple[float, float]:
        radius, turn = math.sqrt(-2 * math.log(self.uniform())), single(2 * math.pi) * 2.0**-32
        angle = single(single(self.word()) * turn + turn / 2)
        return radius * math.sin(angle), radius * math.cos(angle)

    def normal(self) -> float:
        if self.second is None:
            first, self.second = self.normal_pair()
            return first
        value, self.second = self.second, None
        return value

    def normal_pair_double(self) -> tuple[float, float]:
        radius = math.sqrt(-2 * math.log(self.uniform_double()))
        angle = math.pi * 2 * self.uniform_double()
        return radius * math.sin(angle), radius * math.cos(angle)


def single(value: float) -> float:
    return float(np.float32(value))


def uniform4(thread: Thread) -> list[float]:
    return [thread.uniform() for _ in range(4)]


def uniform2(thread: Thread) -> list[float]:
    return [thread.uniform_double() for _ in range(2)]


def normal4(thread: Thread) -> list[float]:
    return [*thread.normal_pair(), *thread.normal_pair()]


def normal2(thread: Thread) -> list[float]:
    return [*thread.normal_pair_double()]


def words4(thread: Thread) -> list[int]:
    return [thread.word() for _ in range(4)]


def words2(thread: Thread) -> list[int]:
    return [thread.word() << 32 | thread.word() for _ in range(2)]


def grid_stride(count: int, draw: Callable[[Thread], list[Any]], offset: int = OFFSET) -> tuple[list[Any], int]:
    """PyTorch's `distribution_elementwise_grid_stride_kernel`: the numbers, and how far the offset goes."""
    numbers: list[Any] = [None] * count
    threads = 256 * min(-(-count // 256), BLOCKS)
    unroll = len(draw(Thread(0)))
    rounded = ((count - 1) // (threads * unroll) + 1) * threads * unroll
    for index in range(threads):
        thread = Thread(index, offset=offset)
        for start in range(index, rounded, threads * unroll):
            for k, number in enumerate(draw(thread)):
                if start + k * threads < count:
                    numbers[start + k * threads] = number
    return numbers, ((count - 1) // (threads * unroll) + 1) * 4
