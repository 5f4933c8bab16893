"""The GPUs that a program can use: real ones through CuPy, or simulated ones, which are asked for.

`MINITORCH_SIMULATED_GPUS=n` in the environment, or `minitorch.cuda.simulate(n)`, makes `n` simulated GPUs. Otherwise
CuPy is looked for when a GPU is first needed; without CuPy, or without a driver, there are none.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import takewhile
from typing import Any, Protocol

GIB = 1 << 30


class GPULibrary(Protocol):
    """What is needed of an array library that computes on GPUs. They are numbered from 0."""

    xp: Any
    """The array module."""
    is_simulated: bool

    def count(self) -> int:
        """How many GPUs the program may use."""

    def on(self, index: int) -> AbstractContextManager[Any]:
        """A context in which this GPU is the thread's current one, where the library computes."""

    def current(self) -> int:
        """The thread's current GPU."""

    def set_current(self, index: int) -> None:
        """Make another GPU the thread's current one."""

    def index_of(self, array: Any) -> int:
        """The GPU on which an array lies."""

    def pointer(self, array: Any) -> int:
        """The address of an array's first element."""

    def to_host(self, array: Any) -> Any:
        """A copy as an array of NumPy."""

    def strided(self, buffer: Any, dtype: Any, offset: int, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """A view of a one-dimensional uint8 buffer; offset and strides are in bytes."""

    def as_bytes(self, array: Any) -> Any:
        """The memory that an array spans, as one-dimensional uint8 array on the same memory."""

    def properties(self, index: int) -> dict[str, Any]:
        """`name`, `major`, `minor`, `total_memory` and `multi_processor_count`."""

    def memory(self, index: int) -> dict[str, int]:
        """Bytes: `allocated`, `reserved`, `max_allocated`, `max_reserved`, `free` and `total`."""

    def reset_peak(self, index: int) -> None:
        """Begin anew with the maxima."""

    def empty_cache(self) -> None:
        """Give back memory that is held for later."""

    def synchronize(self, index: int) -> None:
        """Wait until all work of a GPU is done."""

    def new_stream(self, index: int, priority: int) -> Any:
        """A queue of work, with `synchronize`, `done` and `ptr`; None where all work is done at once."""

    def default_stream(self) -> Any:
        """The queue that work is put into unless another is chosen; None where all work is done at once."""

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        """A context whose work is put into a queue."""

    def current_stream(self) -> Any:
        """The queue into which work is put; None where all work is done at once."""

    def nccl(self) -> Any:
        """The module `cupy.cuda.nccl`; None where there is no NCCL."""

    runs_kernels: bool
    """Whether the library runs functions in CUDA C++."""

    def launch(self, function: str, source: str, blocks: int, threads: int, args: tuple[Any, ...]) -> None:
        """Runs a CUDA function, by its name and its source, in so many blocks of so many threads."""


class GPUBackend:
    """One GPU, as what a device needs from its array library."""

    def __init__(self, library: GPULibrary, index: int) -> None:
        global in_use
        in_use = True
        self.library, self.index = library, index
        self.xp = OnGPU(library, index)

    def strided(self, buffer: Any, dtype: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        with self.library.on(self.index):
            return self.library.strided(buffer, dtype, offset, shape, strides)

    def as_bytes(self, array: Any) -> Any:
        with self.library.on(self.index):
            return self.library.as_bytes(array)

    def pointer(self, array: Any) -> int:
        return self.library.pointer(array)

    def to_host(self, array: Any) -> Any:
        with self.library.on(self.index):
            return self.library.to_host(array)

    def from_host(self, array: Any) -> Any:
        return self.xp.asarray(array)


class OnGPU:
    """The array module of a library, whose functions run on one GPU whichever is the current one."""

    is_host = False

    def __init__(self, library: GPULibrary, index: int) -> None:
        self._library, self._index = library, index

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._library.xp, name)
        if not isinstance(found, type) and callable(found):
            found = self._there(found)
        setattr(self, name, found)
        return found

    @property
    def runs_kernels(self) -> bool:
        """Whether `launch` can be called."""
        return self._library.runs_kernels

    def launch(self, *args: Any) -> None:
        """Runs a kernel on this GPU: see `GPULibrary`."""
        self._there(self._library.launch)(*args)

    def _there(self, function: Any) -> Any:
        library, index = self._library, self._index

        @functools.wraps(function, updated=())
        def there(*args: Any, **kwargs: Any) -> Any:
            try:
                if library.current() == index:
                    return function(*args, **kwargs)
                with library.on(index):
                    return function(*args, **kwargs)
            except MemoryError as error:
                raise out_of_memory(error) from None

        for method in ("at", "reduce", "accumulate", "outer"):
            if hasattr(function, method):
                setattr(there, method, getattr(function, method))
        return there


_library: GPULibrary | None = None
_looked = False
_simulated: tuple[int, int] | None = None
_visible: str | None = None
in_use = False
"""Whether a tensor was made on a GPU."""


def elsewhere(args: Sequence[Any]) -> AbstractContextManager[Any] | None:
    """A context of the GPU of the first tensor on one among the arguments, if it isn't the current GPU."""
    for each in args:
        if isinstance(each, (list, tuple)):
            if (found := elsewhere(each)) is not None:
                return found
        elif (where := getattr(each, "_device", None)) is not None and where.type == "cuda":
            backend = where.backend
            return None if backend.library.current() == where.index else backend.library.on(where.index)
    return None


def library() -> GPULibrary | None:
    """The library of the GPUs that there are; None if there are none.

    Until simulated GPUs are used, `CUDA_VISIBLE_DEVICES` may change. Real ones are looked for once.
    """
    global _library, _looked
    if not _looked:
        _looked = True
        asked = os.environ.get("MINITORCH_SIMULATED_GPUS", "")
        if asked:
            simulate(int(asked))
        else:
            _library = _real()
    elif not in_use and _simulated is not None and os.environ.get("CUDA_VISIBLE_DEVICES") != _visible:
        simulate(*_simulated)
    return _library


def needed() -> GPULibrary:
    """The library of the GPUs. Raises AssertionError if there are none, RuntimeError if all are hidden."""
    found = library()
    if found is None and _simulated is not None and _simulated[0]:
        raise RuntimeError("No CUDA GPUs are available")
    if found is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    return found


def _real() -> GPULibrary | None:
    try:
        import cupy  # loads CUDA's libraries

        if not cupy.cuda.runtime.getDeviceCount():
            return None
    except Exception:  # not installed, or no driver: CuPy and CUDA have errors of their own for that
        return None
    from minitorch.arrays.cupy import CuPyGPUs  # loads cupy

    return CuPyGPUs()


def simulate(count: int, memory: int = 8 * GIB) -> None:
    """Have `count` simulated GPUs of so many bytes each, of which `CUDA_VISIBLE_DEVICES` may hide some.

    Raises ValueError for a negative count, or memory that isn't above 0.
    """
    global _library, _looked, _simulated, _visible, in_use
    if count < 0 or memory <= 0:
        raise ValueError(f"simulate: expected a count of at least 0 and some memory, but got {count} and {memory}")
    from minitorch.arrays.simulated_gpus import SimulatedGPUs  # loads what CuPy offers

    _simulated, _visible = (count, memory), os.environ.get("CUDA_VISIBLE_DEVICES")
    visible = visible_devices(_visible, count)
    _looked, in_use = True, False
    _library = SimulatedGPUs(visible, memory) if visible else None


def visible_devices(text: str | None, count: int) -> list[int]:
    """Which of the machine's GPUs a program may use, in its own order, by `CUDA_VISIBLE_DEVICES`.

    The list ends before the first entry that is no plain number. If a number is in it twice, nothing is visible;
    otherwise it ends before the first number that no GPU has. None, where the variable isn't set, is all of them.

    Source: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
    """
    if text is None:
        return list(range(count))
    numbers = [int(entry) for entry in takewhile(str.isdecimal, map(str.strip, text.split(",")))]
    if len(set(numbers)) < len(numbers):
        return []
    return list(takewhile(lambda number: number < count, numbers))


class OutOfMemoryError(RuntimeError):
    """The memory of a GPU is full."""

    __module__ = "torch"


def out_of_memory(error: MemoryError) -> Exception:
    """PyTorch's error for that of the array library."""
    shape = getattr(error, "shape", None)
    if shape is not None:  # NumPy's
        nbytes = math.prod(shape) * error.dtype.itemsize  # type: ignore[attr-defined]
        return RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            f"allocate {nbytes} bytes. Error code 12 (Cannot allocate memory)"
        )
    found = library() if in_use else None
    sizes: Any = error.__reduce__()[1]  # of CuPy's: what was asked for, what had been allocated, and the limit
    if found is None or len(sizes) != 3:
        return error
    index = found.current()
    known = found.memory(index)
    return OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {_size(sizes[0])}. GPU {index} has a total "
        f"capacity of {_size(known['total'])} of which {_size(known['free'])} is free. "
        f"{_size(known['allocated'])} is allocated by tensors."
    )


def _size(number: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 1 << power:
            return f"{number / (1 << power):.2f} {unit}"
    return f"{number} bytes"
