"""The accelerator of this machine, whichever it is: the GPUs of `minitorch.cuda`, or none.

Source: https://pytorch.org/docs/stable/accelerator.html
"""

from __future__ import annotations

from minitorch import cuda
from minitorch.devices import device

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index", "synchronize",
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


def current_device_index() -> int:
    """Which of them is current. Raises RuntimeError without one."""
    raise RuntimeError(_NONE)


def set_device_index(device: object) -> None:
    """Makes another one current. Raises RuntimeError without one."""
    raise RuntimeError(_NONE)


def synchronize(device: object = None) -> None:
    """Waits for its work to be done. Raises RuntimeError without one."""
    raise RuntimeError(_NONE)


_NONE = "Cannot access accelerator device when none is available."
