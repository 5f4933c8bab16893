"""The accelerator of this machine, whichever it is: the GPUs of `minitorch.cuda`, or none.

Source: https://pytorch.org/docs/stable/accelerator.html
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minitorch import cuda
from minitorch.devices import device

__all__ = [
    "current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
    "get_device_capability", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one."""
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> device | None:
    """Its device, without an index; None where there is none."""
    return device("cuda") if is_available() else None


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def _index_of(where: Any) -> int | None:
    """The number of one, from a number, a device or its name; None for the current one.

    Raises RuntimeError without an accelerator, ValueError for a device of another type.
    """
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if where is None or isinstance(where, int):
        return where
    named = device(where)
    if named.type != "cuda":
        raise ValueError(f"{named.type} doesn't match the current accelerator {current_accelerator()}.")
    return named.index


def current_device_index() -> int:
    """Which of them is current. Raises RuntimeError without one, as all that follow do."""
    _index_of(None)
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Makes another one current: by its number, its device, or its name."""
    index = _index_of(device)
    if index is not None:
        cuda.set_device(index)


def device_index(device: int | None, /) -> AbstractContextManager[None]:
    """A context in which the one of this number is current; None changes nothing."""
    return nullcontext() if device is None else cuda.device(_index_of(device))


def current_stream(device: Any = None, /) -> cuda.Stream:
    """The stream that its work is put into now."""
    return cuda.current_stream(_index_of(device))


def set_stream(stream: cuda.Stream) -> None:
    """Puts later work of the stream's device into it, and makes that device current."""
    _index_of(None)
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits for its work to be done."""
    cuda.synchronize(_index_of(device))


def get_device_capability(device: Any = None, /) -> tuple[int, int]:
    """The version of the features that it has."""
    return cuda.get_device_capability(_index_of(device))


def empty_cache() -> None:
    """Gives back the memory that is held for later tensors."""
    _index_of(None)
    cuda.empty_cache()


def memory_stats(device: Any = None, /) -> OrderedDict[str, Any]:
    """What is known of its memory, by PyTorch's names."""
    return cuda.memory_stats(_index_of(device))


def memory_allocated(device: Any = None, /) -> int:
    """Bytes that living tensors occupy."""
    return cuda.memory_allocated(_index_of(device))


def max_memory_allocated(device: Any = None, /) -> int:
    """The most bytes that were occupied at once."""
    return cuda.max_memory_allocated(_index_of(device))


def memory_reserved(device: Any = None, /) -> int:
    """Bytes that are held, for living tensors and for later ones."""
    return cuda.memory_reserved(_index_of(device))


def max_memory_reserved(device: Any = None, /) -> int:
    """The most bytes that were held at once."""
    return cuda.max_memory_reserved(_index_of(device))


def reset_peak_memory_stats(device: Any = None, /) -> None:
    """Begins anew with the maxima."""
    cuda.reset_peak_memory_stats(_index_of(device))


def get_memory_info(device: Any = None, /) -> tuple[int, int]:
    """The free and the total bytes."""
    return cuda.mem_get_info(_index_of(device))
