"""GPUs: there are none so far, and everything here says so. Source: https://pytorch.org/docs/stable/cuda.html"""

from __future__ import annotations

from minitorch.cuda import amp

__all__ = ["amp", "device_count", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether there is a GPU: False."""
    return False


def device_count() -> int:
    """The number of GPUs: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current GPU: without one, nothing."""


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all GPUs: without one, nothing."""
