"""Python's multiprocessing, with tensors that are sent through shared memory: `Queue`, `Process`, `Pipe`, `Pool`, ….

A tensor that is put into a queue moves to shared memory; who gets it sees the same memory, not a copy.
Source: https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from minitorch.multiprocessing import reductions
from minitorch.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)

__all__ = [*multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]


def get_all_sharing_strategies() -> set[str]:
    """How tensors can be shared: there is one way, by descriptors of unnamed files."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """How tensors are shared."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses how tensors are shared. Raises NotImplementedError for files with names, which a crash leaves behind."""
    if new_strategy == "file_system":
        raise NotImplementedError("set_sharing_strategy: 'file_system'")
    if new_strategy not in get_all_sharing_strategies():
        strategies = {"file_descriptor", "file_system"}
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {strategies}")
