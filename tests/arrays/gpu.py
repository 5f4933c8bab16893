"""Which GPU the tests of this folder use: a simulated one that isn't the current one, or by `make gpu` a real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from minitorch.cuda import simulate

REAL = os.environ.get("MINITORCH_TEST_ON") == "gpu"
THERE = "cuda:0" if REAL else "cuda:1"


@contextmanager
def gpus() -> Iterator[None]:
    """For a while there are GPUs."""
    if REAL:
        yield
        return
    simulate(2)
    yield
    simulate(0)
