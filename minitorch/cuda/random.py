"""The random number generators of GPUs. Source: https://pytorch.org/docs/stable/cuda.html#random-number-generator"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitorch import random
from minitorch.cuda.selection import current_device, device_count, index_of
from minitorch.tensor import Tensor


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU; without a GPU, nothing. That doesn't count as using the GPU."""
    if device_count():
        random.default_gpu_generator(index_of(None)).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    random.seed_gpus(int(seed))


def seed() -> None:
    """Seed the generator of the current GPU by chance; without a GPU, nothing."""
    if device_count():
        random.default_gpu_generator(index_of(None)).seed()


def seed_all() -> None:
    """Seed the generators of all GPUs by chance, alike."""
    if device_count():
        manual_seed_all(random.default_gpu_generator(index_of(None)).seed())


def initial_seed() -> int:
    """The seed of the current GPU's generator. Raises AssertionError without a GPU."""
    return random.default_gpu_generator(current_device()).initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's generator, 16 bytes. Raises AssertionError without a GPU."""
    return random.default_gpu_generator(index_of(device)).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the state of a GPU's generator; without a GPU, nothing."""
    if device_count():
        random.default_gpu_generator(index_of(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all GPUs' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
