"""Where a tensor's memory is, and who computes there.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#torch.device
"""

from __future__ import annotations

import enum
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar, cast

from minitorch.arrays import Backend, backend_for, gpus

DEVICE_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:
    """A device type and, where there can be several, an index: `device("cuda", 1)`, `device("cuda:1")`, `device(1)`.

    Equal devices are one object. As a context manager it is the default device of the tensors created inside.
    Raises RuntimeError for a type or an index that PyTorch doesn't know.
    """

    _known: ClassVar[dict[tuple[str, int | None], device]] = {}

    type: str
    index: int | None

    def __new__(cls, type: str | int | device, index: int | None = None) -> device:
        if isinstance(type, device):
            if index is not None:
                raise TypeError("device(): argument 'type' (position 1) must be str, not torch.device")
            return type
        type, index = _parse(type, index)
        known = cls._known.get((type, index))
        if known is None:
            known = cls._known[type, index] = super().__new__(cls)
            known.type, known.index, known._entered = type, index, []
        return known

    _entered: list[device | None]

    @cached_property
    def backend(self) -> Backend:
        """The array library that computes on this device, loaded when first needed."""
        return backend_for(self.type, self.index)

    @cached_property
    def xp(self) -> Any:
        """The array module of the backend: the first argument of every kernel."""
        return self.backend.xp

    @cached_property
    def array_type(self) -> Any:
        """The class of the backend's arrays."""
        return self.xp.ndarray

    def active(self) -> AbstractContextManager[Any]:
        """A context in which the array library computes here; on the CPU it always does."""
        if self.type == "cuda" and self.index is not None:
            backend: Any = self.backend
            return cast(AbstractContextManager[Any], backend.library.on(self.index))
        return nullcontext()

    def __enter__(self) -> device:
        self._entered.append(_state.default)
        _state.default = self
        return self

    def __exit__(self, *error: object) -> None:
        _state.default = self._entered.pop()

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))


def _parse(type: Any, index: Any) -> tuple[str, int | None]:
    if isinstance(type, int) and not isinstance(type, bool):
        type, index = "cuda", type  # the legacy spelling: a bare number is a GPU
    if not isinstance(type, str):
        raise TypeError(
            f"device() received an invalid combination of arguments - got ({type.__class__.__name__}), but "
            "expected a str or an int"
        )
    if index is not None and index.__class__ is not int:
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
    if not type:
        raise RuntimeError("Device string must not be empty")
    name, colon, number = type.partition(":")
    if name not in DEVICE_TYPES:
        raise RuntimeError(f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {name}")
    if colon:
        if index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if not number.isdigit() or (number != "0" and number.startswith("0")):
            raise RuntimeError(f"Invalid device string: '{type}'")
        index = int(number)
    if index is not None and index < 0:
        raise RuntimeError("Device index must not be negative")
    return name, index


cpu = device("cpu")


class _State(threading.local):
    """What each thread sets for itself."""

    default: device | None = None


_state = _State()
_home = cpu
"""The device of tensors whose `device` isn't given where no default was set: the CPU, or with another default tensor
type the current GPU."""


def set_home(device_type: str) -> None:
    """Makes tensors of all threads on the CPU or on the current GPU where nothing else is said."""
    global _home
    _home = device(device_type)


def goes_without_saying(where: device) -> bool:
    """Whether a printed tensor doesn't say that it is there: where tensors are made by themselves."""
    return where.type == _home.type and (where is cpu or where is gpu(None))


def get_default_device() -> device:
    """Returns the device of new tensors whose `device` isn't given.

    A GPU by its number, the current one if none was set.

    Source: https://pytorch.org/docs/stable/generated/torch.get_default_device.html
    """
    chosen = _state.default or _home
    return tensor_device(None) if chosen.index is None else chosen


def set_default_device(device_: str | int | device | None, /) -> None:
    """Sets the device of this thread's new tensors; None restores the CPU. Returns None.

    https://pytorch.org/docs/stable/generated/torch.set_default_device.html
    """
    _state.default = None if device_ is None else device(device_)


def tensor_device(requested: str | int | device | None) -> device:
    """The device a new tensor gets when its creator asked for `requested`.

    Every CPU index is the one CPU. A device without a backend is refused here, before any memory is touched.
    """
    if requested is None and _state.default is None and _home is cpu:
        return cpu
    chosen = (_state.default or _home) if requested is None else device(requested)
    if chosen.type == "cpu":
        return cpu
    if chosen.type == "cuda":
        return gpu(chosen.index)
    if chosen.type == "meta":
        chosen = device("meta")  # which has no numbers
    chosen.backend  # noqa: B018 (raises for a device that has none)
    return chosen


def device_for(tensor: Any, requested: Any) -> Any:
    """Where a function that makes tensors of anything puts what it makes of a tensor: where that lies, unless it was
    asked for a device or there is a default.
    """
    return requested or _state.default or tensor._device


def gpu(index: int | None) -> device:
    """The device of a GPU, of the current one if there is no number.

    Raises AssertionError if there are no GPUs, RuntimeError if all are hidden, or if there is none of this number.
    """
    library = gpus.needed()
    if index is None:
        index = library.current()
    if index >= library.count():
        raise RuntimeError(
            "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
        )
    return device("cuda", index)


DLDeviceType = enum.IntEnum(
    "DLDeviceType",
    {
        "kDLCPU": 1, "kDLCUDA": 2, "kDLCUDAHost": 3, "kDLOpenCL": 4, "kDLVulkan": 7, "kDLMetal": 8, "kDLVPI": 9,
        "kDLROCM": 10, "kDLROCMHost": 11, "kDLExtDev": 12, "kDLCUDAManaged": 13, "kDLOneAPI": 14, "kDLWebGPU": 15,
        "kDLHexagon": 16, "kDLMAIA": 17,
    },
)  # fmt: skip
"""DLPack's numbers of device types. Source: https://dmlc.github.io/dlpack/latest/c_api.html"""

_OF_TYPE = {"cpu": DLDeviceType.kDLCPU, "cuda": DLDeviceType.kDLCUDA}


def dlpack_device(where: device) -> tuple[DLDeviceType, int]:
    """DLPack's (device type, index) of a device. Raises ValueError for one that DLPack has no number for."""
    if where.type not in _OF_TYPE:
        raise ValueError(f"Unknown device type {where.type} for Dlpack")
    return _OF_TYPE[where.type], where.index or 0


def forget_backends() -> None:
    """Let each device of a GPU look for its backend again: there are other GPUs now."""
    for (type, _), known in device._known.items():
        if type == "cuda":
            for name in ("backend", "xp", "array_type"):
                vars(known).pop(name, None)
