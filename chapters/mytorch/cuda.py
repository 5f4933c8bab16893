"""`mytorch.cuda`: which GPUs there are, which is the current one, and how much of their memory is in use.

As the CPU's arrays are NumPy's, those of GPUs are minitorch's: CuPy's on real GPUs (`use_cupy()`), or simulated
ones that do what CuPy's do (`simulate(2)` makes two GPUs). A simulated GPU says so in its name.
"""

# 05 · Devices
from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from .arrays import FROM_NUMPY, LIBRARIES, Library
from .dispatch import Function, Operation, layer, tensors_in
from .settings import device as device_type


class State:
    """The GPUs that there are, as their array library sees them, and whether one has been used."""

    gpus: Any = None
    initialized = False


def simulate(count: int, visible: str | None = None, memory: int = 8 << 30) -> None:
    """Have `count` simulated GPUs of so many bytes each from now on.

    The program may use those that `visible_devices` gives.
    """
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
        gpus.xp.lib.stride_tricks.as_strided,
        lambda array: device_type("cuda", gpus.index_of(array)),
        gpus.to_host,
        gpus.pointer,
    )


class OutOfMemoryError(RuntimeError):
    """The memory of a GPU is full."""


@contextmanager
def computing_on(index: int) -> Iterator[None]:
    """Arrays are computed on the current GPU: in this context, it is this one."""
    try:
        with State.gpus.on(index):
            yield
    except MemoryError:
        memory = State.gpus.memory(index)
        raise OutOfMemoryError(
            f"CUDA out of memory. GPU {index} has a total capacity of {memory['total']} bytes of which "
            f"{memory['free']} bytes is free."
        ) from None


def to_gpu(array: Any, where: device_type) -> Any:
    """Copy an array of NumPy to a GPU; to the current one if `where` has no index."""
    with computing_on(check_index(index_of(where))):
        return State.gpus.xp.asarray(array)


FROM_NUMPY["cuda"] = to_gpu


@layer
def on_its_gpu(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run an operation on the GPU of its first tensor that is on one."""
    for each in tensors_in(args):
        if each.device.index is not None:
            with computing_on(each.device.index):
                return below(op, args)
    return below(op, args)


def visible_devices(text: str | None, count: int) -> list[int]:
    """Which of a machine's `count` GPUs a program may use, in its own order, by `CUDA_VISIBLE_DEVICES`.

    `visible_devices("2,0", 3)` is `[2, 0]`: the program's GPU 0 is the machine's GPU 2.

    Args:
        text: what the variable holds: numbers with commas between them, and perhaps spaces around them.
            None if it isn't set; then all GPUs are visible. The list ends before the first entry that is
            not a plain number. If a number is then in it twice, nothing is visible. Otherwise it ends
            before the first number that no GPU has.
        count: the machine's GPUs have the numbers from 0 to `count - 1`.
    """
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
    """Begin to use GPUs. What needs one calls this.

    Raises:
        RuntimeError: there is none.
    """
    if not is_available():
        raise RuntimeError("No CUDA GPUs are available")
    State.initialized = True


def current_device() -> int:
    """The number of the GPU that `device("cuda")` means."""
    init()
    return int(State.gpus.current())


def set_device(where: Any) -> None:
    """Make another GPU the current one: a number, or a device with an index."""
    index = check_index(index_of(where))
    State.gpus.set_current(index)


def get_device_name(where: Any = None) -> str:
    """What a GPU is called. A simulated one has the machine's number in its name."""
    index = check_index(index_of(where))
    return str(State.gpus.properties(index)["name"])


def memory_allocated(where: Any = None) -> int:
    """The bytes that living tensors occupy on a GPU; 0 as long as none has been used."""
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
    """The number of a GPU, from a number, a device, its text, or None for the current one.

    Raises:
        ValueError: another kind of device.
    """
    if where is None:
        return current_device()
    if isinstance(where, (str, device_type)):
        named = device_type(where)
        if named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {named}")
        return current_device() if named.index is None else named.index
    return operator.index(where)


def check_index(index: int) -> int:
    """The number of a GPU, if there is such a one.

    Raises:
        RuntimeError: there is none of this number, or none at all.
    """
    init()
    if not 0 <= index < device_count():
        raise RuntimeError("CUDA error: invalid device ordinal")
    return index
