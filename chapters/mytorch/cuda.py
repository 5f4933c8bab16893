"""`mytorch.cuda`: GPUs with minitorch's arrays, real ones by CuPy (`use_cupy()`) or simulated (`simulate(2)`)."""

# 05 · Devices
from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from .arrays import LIBRARIES, TO_DEVICE, Library, refuse_freed
from .settings import device as device_type


class State:
    """The GPUs that there are, as their array library sees them, and whether one has been used."""

    gpus: Any = None
    initialized = False


def simulate(count: int, visible: str | None = None, memory: int = 8 << 30) -> None:
    """Have `count` simulated GPUs of so many bytes each; the program may use those that `visible_devices` gives."""
    from minitorch.arrays.simulated_gpus import SimulatedGPUs  # loads minitorch

    use(SimulatedGPUs(visible_devices(visible, count), memory))


def use_cupy() -> bool:
    """Compute on real GPUs from now on, if CuPy finds any; says whether it does."""
    try:
        from minitorch.arrays.cupy import CuPyGPUs  # loads minitorch and CuPy

        gpus = CuPyGPUs()
        found = gpus.count() > 0
    except Exception:  # not installed, or no driver: CuPy has errors of its own for that
        return False
    if found:
        use(gpus)
    return found


def use(gpus: Any) -> None:
    """Compute on these GPUs from now on."""
    State.gpus, State.initialized = gpus, False
    LIBRARIES[gpus.xp.ndarray] = Library(
        as_strided,
        lambda array: device_type("cuda", gpus.index_of(array)),
        gpus.to_host,
        gpus.pointer,
    )


def as_strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The memory of a flat array of a GPU with other strides, in bytes."""
    refuse_freed(array, shape)
    return State.gpus.xp.lib.stride_tricks.as_strided(array, shape, strides)


class OutOfMemoryError(RuntimeError):
    """The memory of a GPU is full."""


@contextmanager
def computing_on(index: int) -> Iterator[None]:
    """Arrays are computed on the current GPU: in this context, it is this one."""
    try:
        with State.gpus.on(index):
            yield
    except MemoryError:
        total, free = (State.gpus.memory(index)[name] for name in ("total", "free"))
        capacity = f"GPU {index} has a total capacity of {total} bytes of which {free} bytes is free."
        raise OutOfMemoryError(f"CUDA out of memory. {capacity}") from None


def to_gpu(array: Any, where: device_type) -> Any:
    """Copy an array of NumPy to a GPU; to the current one if `where` has no index."""
    with computing_on(check_index(index_of(where))):
        return State.gpus.xp.asarray(array)


TO_DEVICE["cuda"] = to_gpu


def visible_devices(text: str | None, count: int) -> list[int]:
    """Return the indices of the GPUs that `CUDA_VISIBLE_DEVICES` makes visible, in the program's order."""
    if text is None:
        return list(range(count))
    numbers = [int(entry) for entry in takewhile(str.isdecimal, map(str.strip, text.split(",")))]
    if len(set(numbers)) < len(numbers):
        return []
    return list(takewhile(lambda number: number < count, numbers))


def is_available() -> bool:
    """Whether there is a GPU, real or simulated."""
    return device_count() > 0


def device_count() -> int:
    """How many GPUs there are."""
    return 0 if State.gpus is None else int(State.gpus.count())


def is_initialized() -> bool:
    """Whether a GPU has been used. Asking how many there are doesn't count."""
    return State.initialized


def init() -> None:
    """Initialize CUDA. Every function that needs a GPU calls this first."""
    if not is_available():
        raise RuntimeError("No CUDA GPUs are available")
    State.initialized = True


def current_device() -> int:
    """Return the index of the GPU that `device("cuda")` means. Initializes CUDA first."""
    init()
    return int(State.gpus.current())


def set_device(where: Any) -> None:
    """Make a GPU the current one, given by its index, a device, or a device string."""
    index = check_index(index_of(where))
    State.gpus.set_current(index)


def get_device_name(where: Any = None) -> str:
    """What a GPU is called. A simulated one has the machine's number in its name."""
    return str(State.gpus.properties(check_index(index_of(where)))["name"])


def memory_allocated(where: Any = None) -> int:
    """Return the bytes that tensors occupy on a GPU; 0 before the first use of a GPU."""
    if not State.initialized:
        return 0
    return int(State.gpus.memory(check_index(index_of(where)))["allocated"])


class device:
    """A context in which another GPU is the current one: `with cuda.device(1): ...`"""

    def __init__(self, where: Any) -> None:
        self.index = index_of(where)

    def __enter__(self) -> device:
        self._outer = current_device()
        set_device(self.index)
        return self

    def __exit__(self, *error: object) -> None:
        set_device(self._outer)


def index_of(where: Any) -> int:
    """Return the index of a GPU, given as an integer, a device, a device string, or None for the current GPU."""
    if where is None:
        return current_device()
    if isinstance(where, (str, device_type)):
        named = device_type(where)
        if named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {named}")
        return current_device() if named.index is None else named.index
    return operator.index(where)


def check_index(index: int) -> int:
    """Return `index` unchanged if the machine has that GPU. Initializes CUDA first."""
    init()
    if not 0 <= index < device_count():
        raise RuntimeError("CUDA error: invalid device ordinal")
    return index


# 22b · Where the memory goes
def max_memory_allocated(where: Any = None) -> int:
    """The most bytes that were occupied at once, since the start or `reset_peak_memory_stats`."""
    return int(State.gpus.memory(check_index(index_of(where)))["max_allocated"])


def reset_peak_memory_stats(where: Any = None) -> None:
    """Let the peak begin again, at what is occupied now."""
    State.gpus.reset_peak(check_index(index_of(where)))
