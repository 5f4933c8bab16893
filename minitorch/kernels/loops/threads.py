"""Loops on several threads, each of which takes some of the rows."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.threads import get_num_threads

PART = 2**17
"""The elements for which another thread is worth waking, which takes it about as long as a loop needs for them."""


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "minitorch loops")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has none of the threads


def by_parts(loop: Callable[..., bool], arrays: Sequence[Array], *numbers: Any) -> bool:
    """Runs `loop(*arrays, *numbers)`, on parts of the first dimension on as many threads as `set_num_threads` names.

    The rows, or elements, must not depend on each other; so the result doesn't depend on the number of threads.
    """
    first = arrays[0]
    parts = 1 if first.size < 2 * PART else min(get_num_threads(), first.size // PART, len(first))
    if parts < 2:
        return loop(*arrays, *numbers)
    bounds = [len(first) * part // parts for part in range(parts + 1)]
    cut = [[each[start:stop] for each in arrays] for start, stop in itertools.pairwise(bounds)]
    others = [_pool().submit(loop, *part, *numbers) for part in cut[1:]]
    loop(*cut[0], *numbers)
    for each in others:
        each.result()
    return True
