"""Page-locked memory of the host, out of which GPUs copy without the processor's help.

Source: https://pytorch.org/docs/stable/notes/cuda.html#use-pinned-memory-buffers
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.arrays import Array, gpus


class SimulatedPinnedMemory(bytearray):
    """What stands for page-locked memory where the GPUs are simulated."""


_kinds: list[type] = [SimulatedPinnedMemory]


def allocate(nbytes: int) -> Array:
    """New page-locked memory, as a one-dimensional uint8 array. Raises RuntimeError if there are no GPUs."""
    library = gpus.library()
    if library is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if library.is_simulated:
        block: Any = SimulatedPinnedMemory(max(nbytes, 1))
    else:
        import cupy

        block = cupy.cuda.alloc_pinned_memory(max(nbytes, 1))
        _kinds.append(type(block))
    return np.frombuffer(block, np.uint8, nbytes)


def is_pinned(array: Array) -> bool:
    """Whether an array of the host lies in page-locked memory."""
    owner: Any = array
    while owner is not None and not isinstance(owner, tuple(_kinds)):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner is not None
