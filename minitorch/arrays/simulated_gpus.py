"""The simulated GPUs as a whole: how many, which is current, how much of their memory is in use."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minitorch.arrays import simulated
from minitorch.arrays.numpy import NumPyBackend
from minitorch.arrays.simulated_array import ndarray
from minitorch.arrays.simulated_memory import MEMORIES, Device, GpuMemory, current


class SimulatedGPUs:
    """GPUs in host memory that behave as CuPy's: see `simulated`.

    Args:
        visible: the machine's number of each GPU that the program may use.
        memory: bytes of each.
    """

    xp: Any = simulated.xp
    is_simulated = True
    runs_kernels = False  # their twins compute

    def __init__(self, visible: Sequence[int], memory: int) -> None:
        self._visible = visible
        MEMORIES.update({index: GpuMemory(memory) for index in range(len(visible))})
        self.set_current(0)

    def count(self) -> int:
        return len(self._visible)

    def on(self, index: int) -> AbstractContextManager[Any]:
        return Device(index)

    def current(self) -> int:
        return current()

    def set_current(self, index: int) -> None:
        Device(index).use()

    def index_of(self, array: Any) -> int:
        return int(array.device.id)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def to_host(self, array: Any) -> Any:
        return array.get()

    def strided(self, buffer: Any, dtype: Any, offset: int, shape: Sequence[int], strides: Sequence[int]) -> Any:
        view = NumPyBackend().strided(buffer._numbers, dtype, offset, tuple(shape), tuple(strides))
        return ndarray(view, current())

    def as_bytes(self, array: Any) -> Any:
        return ndarray(NumPyBackend().as_bytes(array._numbers), current())

    def properties(self, index: int) -> dict[str, Any]:
        return {
            "name": f"Simulated GPU {self._visible[index]}",
            "major": 9,  # as an H100, on which the order of random numbers depends
            "minor": 0,
            "total_memory": MEMORIES[index].total,
            "multi_processor_count": 132,
            "max_threads_per_multi_processor": 2048,
        }

    def memory(self, index: int) -> dict[str, int]:
        memory = MEMORIES[index]
        return {
            "allocated": memory.used,
            "reserved": memory.used,
            "max_allocated": memory.peak,
            "max_reserved": memory.peak,
            "free": memory.total - memory.used,
            "total": memory.total,
            "blocks": memory.blocks,
            "max_blocks": memory.most_blocks,
        }

    def reset_peak(self, index: int) -> None:
        memory = MEMORIES[index]
        memory.peak, memory.most_blocks = memory.used, memory.blocks

    def empty_cache(self) -> None:
        pass  # nothing is held

    def synchronize(self, index: int) -> None:
        pass  # all work is done at once

    def new_stream(self, index: int, priority: int) -> None:
        return None

    def default_stream(self) -> None:
        return None

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        return nullcontext()

    def current_stream(self) -> None:
        return None

    def nccl(self) -> None:
        return None

    def launch(self, function: str, source: str, blocks: int, threads: int, args: tuple[Any, ...]) -> None:
        raise NotImplementedError("simulated GPUs run no kernels")
