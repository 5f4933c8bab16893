"""Which GPUs there are, what they are called, and which one is current."""

from __future__ import annotations

import operator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from minitorch.arrays import gpus
from minitorch.devices import device as Device


def is_available() -> bool:
    """Whether there is a GPU, real or simulated."""
    return gpus.library() is not None


def device_count() -> int:
    """How many GPUs there are."""
    library = gpus.library()
    return 0 if library is None else library.count()


def is_initialized() -> bool:
    """Whether a GPU has been used. Asking how many there are doesn't count."""
    return gpus.in_use


def init() -> None:
    """Begin to use GPUs; what needs one does that by itself. Raises AssertionError or RuntimeError without one."""
    library_of_gpus()
    gpus.in_use = True


def library_of_gpus() -> gpus.GPULibrary:
    """The array library of the GPUs. Raises AssertionError if there are none, RuntimeError if all are hidden."""
    return gpus.needed()


def index_of(where: Any, optional: bool = True) -> int:
    """The number of a GPU, from a number, a device, its name, or None for the current one.

    Raises ValueError for another kind of device, RuntimeError if there is no such GPU.
    """
    index = _number(where, optional)
    if not 0 <= index < device_count():
        raise RuntimeError("CUDA error: invalid device ordinal")
    return index


def _number(where: Any, optional: bool = True) -> int:
    library = library_of_gpus()
    if where is None and optional:
        return library.current()
    if isinstance(where, (str, Device)):
        named = Device(where)
        if named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {named}")
        if named.index is None and not optional:
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{where}")
        return library.current() if named.index is None else named.index
    return operator.index(where)


def _known(where: Any, called: str = "device") -> int:
    """The number of a GPU that something is asked about. Raises AssertionError if there is no such GPU."""
    index = _number(where)
    if not 0 <= index < device_count():
        raise AssertionError(f"Invalid {called} id")
    return index


def current_device() -> int:
    """The number of the GPU that `device("cuda")` means in this thread."""
    init()
    return library_of_gpus().current()


def set_device(device: Any) -> None:
    """Make another GPU this thread's current one; a negative number changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    init()
    library_of_gpus().set_current(index_of(device, optional=False))


class device:
    """A context in which another GPU is this thread's current one: `with cuda.device(1): ...`.

    -1 or None changes nothing.

    Source: https://pytorch.org/docs/stable/generated/torch.cuda.device.html
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or device == -1 else index_of(device)
        self._contexts: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> None:
        library = library_of_gpus()
        self._contexts.append(library.on(library.current() if self.idx < 0 else self.idx))
        self._contexts[-1].__enter__()

    def __exit__(self, *error: Any) -> None:
        self._contexts.pop().__exit__(*error)


class device_of(device):
    """A context in which the GPU of a tensor is the current one; for a tensor on the CPU it changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a GPU, as `torch.cuda.get_device_properties` gives it."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, memory and size of a GPU. Raises AssertionError if there is no such GPU."""
    return DeviceProperties(**library_of_gpus().properties(_known(device)))


def get_device_name(device: Any = None) -> str:
    """What a GPU is called; a simulated one says so."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The version of CUDA's features that a GPU has."""
    known = get_device_properties(device)
    return known.major, known.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16: CuPy has no such arrays."""
    return False


def get_arch_list() -> list[str]:
    """The kinds of GPUs that there are kernels for: CuPy compiles its own when they are needed."""
    return []


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU can read another's memory. Simulated ones can't. Raises AssertionError if there is none."""
    one, other = _known(device), _known(peer_device, "peer device")
    return one != other and not library_of_gpus().is_simulated


def synchronize(device: Any = None) -> None:
    """Wait until all work of a GPU is done."""
    library_of_gpus().synchronize(index_of(device))
