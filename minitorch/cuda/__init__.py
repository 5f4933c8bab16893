"""GPUs: there are none so far, and everything here says so. Source: https://pytorch.org/docs/stable/cuda.html"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from minitorch.cuda import amp
from minitorch.tensor import Tensor

__all__ = [
    "Event",
    "OutOfMemoryError",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]


class OutOfMemoryError(RuntimeError):
    """What a GPU without enough memory raises: here, nothing."""


class Stream:
    """A queue of a GPU's work. Raises RuntimeError: there is no GPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A moment in a GPU's work. Raises RuntimeError: there is no GPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")


def is_available() -> bool:
    """Whether there is a GPU: False."""
    return False


def device_count() -> int:
    """The number of GPUs: 0."""
    return 0


def is_initialized() -> bool:
    """Whether a GPU has been used: False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16: False."""
    return False


def get_arch_list() -> list[str]:
    """The kinds of GPUs that there are kernels for: none."""
    return []


def manual_seed(seed: int) -> None:
    """Seeds the generator of the current GPU: without one, nothing."""


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all GPUs: without one, nothing."""


def seed() -> None:
    """Seeds the generator of the current GPU by chance: without one, nothing."""


def seed_all() -> None:
    """Seeds the generators of all GPUs by chance: without one, nothing."""


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' generators: none."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Sets the state of a GPU's generator: without one, nothing."""


def set_rng_state_all(new_states: list[Tensor]) -> None:
    """Sets the states of all GPUs' generators: without one, nothing."""


def empty_cache() -> None:
    """Gives memory back: without a GPU, nothing."""


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What is known of a GPU's memory: nothing."""
    return OrderedDict()


def memory_allocated(device: Any = None) -> int:
    """Bytes of a GPU's memory that tensors take: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def current_device() -> NoReturn:
    """The GPU in use. Raises AssertionError: there is none."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def get_device_properties(device: Any = None) -> NoReturn:
    """What kind of GPU it is. Raises AssertionError: there is none."""
    current_device()


get_device_name = get_device_capability = mem_get_info = synchronize = get_device_properties
current_stream = default_stream = get_rng_state = get_device_properties
init = initial_seed = ipc_collect = current_device
