"""Simulated GPUs, for machines without one."""

from __future__ import annotations

from minitorch import devices, random
from minitorch.arrays import gpus

__all__ = ["simulate"]


def simulate(count: int, memory: int = 8 * gpus.GIB) -> None:
    """Have `count` simulated GPUs of so many bytes each; tensors on earlier ones can't be used any more.

    They compute in host memory, refuse what CuPy refuses, and say in their name that they are simulated.
    Raises ValueError for a negative count, or memory that isn't above 0.
    """
    gpus.simulate(count, memory)
    devices.forget_backends()
    random.gpu_generators.clear()
