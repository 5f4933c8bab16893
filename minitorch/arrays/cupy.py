"""Real GPUs, computed on by CuPy. It has been checked against CuPy's interface, and not yet been run on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import cupy


class CuPyGPUs:
    """All GPUs that CUDA sees. `CUDA_VISIBLE_DEVICES` is CUDA's own business."""

    xp: Any = cupy
    is_simulated = False
    runs_kernels = True

    def __init__(self) -> None:
        self._peaks: dict[int, tuple[int, int]] = {}
        self._kernels: dict[tuple[str, str], Any] = {}

    def count(self) -> int:
        return int(cupy.cuda.runtime.getDeviceCount())

    def on(self, index: int) -> AbstractContextManager[Any]:
        device: AbstractContextManager[Any] = cupy.cuda.Device(index)
        return device

    def current(self) -> int:
        return int(cupy.cuda.runtime.getDevice())

    def set_current(self, index: int) -> None:
        cupy.cuda.Device(index).use()

    def index_of(self, array: Any) -> int:
        return int(array.device.id)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def to_host(self, array: Any) -> Any:
        return array.get()

    def strided(self, buffer: Any, dtype: Any, offset: int, shape: Sequence[int], strides: Sequence[int]) -> Any:
        return cupy.ndarray(tuple(shape), dtype, buffer.data + offset, tuple(strides))

    def as_bytes(self, array: Any) -> Any:
        span = (
            sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)) + array.itemsize
        )
        return cupy.ndarray((span if array.size else 0,), "uint8", array.data)

    def properties(self, index: int) -> dict[str, Any]:
        known = cupy.cuda.runtime.getDeviceProperties(index)
        return {
            "name": known["name"].decode(),
            "major": known["major"],
            "minor": known["minor"],
            "total_memory": known["totalGlobalMem"],
            "multi_processor_count": known["multiProcessorCount"],
            "max_threads_per_multi_processor": known["maxThreadsPerMultiProcessor"],
        }

    def memory(self, index: int) -> dict[str, int]:
        with self.on(index):
            pool = cupy.get_default_memory_pool()
            used, held = int(pool.used_bytes()), int(pool.total_bytes())
            free, total = cupy.cuda.runtime.memGetInfo()
        peaks = self._peaks.get(index, (0, 0))
        self._peaks[index] = max(used, peaks[0]), max(held, peaks[1])
        return {
            "allocated": used,
            "reserved": held,
            "max_allocated": self._peaks[index][0],  # as far as anybody asked
            "max_reserved": self._peaks[index][1],
            "free": int(free),
            "total": int(total),
        }

    def reset_peak(self, index: int) -> None:
        self._peaks.pop(index, None)

    def empty_cache(self) -> None:
        cupy.get_default_memory_pool().free_all_blocks()

    def synchronize(self, index: int) -> None:
        cupy.cuda.Device(index).synchronize()

    def new_stream(self, index: int, priority: int) -> Any:
        with self.on(index):
            return cupy.cuda.Stream(non_blocking=True, priority=priority)

    def default_stream(self) -> Any:
        return cupy.cuda.Stream.null

    def current_stream(self) -> Any:
        return cupy.cuda.get_current_stream()

    def nccl(self) -> Any:
        return getattr(cupy.cuda, "nccl", None)  # CuPy loads it where the library is installed

    def launch(self, function: str, source: str, blocks: int, threads: int, args: tuple[Any, ...]) -> None:
        kernel = self._kernels.get((function, source))
        if kernel is None:
            kernel = self._kernels[function, source] = cupy.RawKernel(source, function)
        kernel((blocks,), (threads,), tuple(map(_passed, args)))

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = stream
        return context


def _passed(value: Any) -> Any:
    """An argument of a kernel: long long, double, an array, or a pointer to nothing."""
    if value is None:
        return cupy.uint64(0)
    return cupy.float64(value) if isinstance(value, float) else cupy.int64(value) if isinstance(value, int) else value
