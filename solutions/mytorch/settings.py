"""What every tensor obeys: element types, device names, their defaults, and how numbers are printed."""

# 01 · Global settings
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


class dtype:
    """An element type: PyTorch's name for one of NumPy's types."""

    def __init__(self, name: str, numpy_type: Any, *, is_floating_point: bool = False) -> None:
        self.name, self.numpy, self.is_floating_point = name, np.dtype(numpy_type), is_floating_point
        self.itemsize = self.numpy.itemsize  # bytes of one element

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __deepcopy__(self, memo: Any) -> dtype:
        return self  # there is one object for each type


bool_ = dtype("bool", np.bool_)
uint8 = dtype("uint8", np.uint8)
int8 = dtype("int8", np.int8)
int16 = dtype("int16", np.int16)
int32 = dtype("int32", np.int32)
int64 = dtype("int64", np.int64)
float16 = dtype("float16", np.float16, is_floating_point=True)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, is_floating_point=True)
float32 = dtype("float32", np.float32, is_floating_point=True)
float64 = dtype("float64", np.float64, is_floating_point=True)

DTYPES = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64)
FROM_NUMPY = {each.numpy: each for each in DTYPES}
TYPE_NAMES = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long"}
TYPE_NAMES |= {"float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double"}
"""What PyTorch's messages call the types, after C++."""


class device:
    """Where numbers are: a type, "cpu" or "cuda", and which one (None if not named); as a context, the default."""

    TYPES = ("cpu", "cuda")

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
        elif isinstance(type, int):
            self.type, self.index = "cuda", type
        else:
            self.type, self.index = parse_device(type) if index is None else (type, index)
        if self.index is not None and self.index < 0:
            raise RuntimeError("Device index must not be negative")
        self.outer: list[device] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __enter__(self) -> device:
        """Become the default device (`settings.default_device`), and return the device itself."""
        self.outer.append(settings.default_device)
        settings.default_device = self
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the default that the matching `__enter__` found, after an error as well."""
        settings.default_device = self.outer.pop()


def parse_device(text: str) -> tuple[str, int | None]:
    """Split a device's text into its type and index."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = re.fullmatch(r"([A-Za-z]+)(?::(0|[1-9][0-9]*))?", text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match[1] not in device.TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(device.TYPES)} device type at start of device string: {match[1]}"
        )
    return match[1], None if match[2] is None else int(match[2])


@dataclass
class PrintOptions:
    """How tensors are printed: see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


@dataclass
class Settings:
    """The state that calls without `dtype=` and `device=` fall back on."""

    default_dtype: dtype
    default_device: device
    print: PrintOptions


settings = Settings(float32, device("cpu"), PrintOptions())


def set_default_dtype(d: dtype) -> None:
    """Make `d` the type of new floating-point tensors (`settings.default_dtype`)."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    settings.default_dtype = d


def get_default_dtype() -> dtype:
    """The type of new floating-point tensors."""
    return settings.default_dtype


def set_default_device(where: str | device | None) -> None:
    """Make `where` the device of new tensors; None is the CPU."""
    settings.default_device = device("cpu" if where is None else where)


def get_default_device() -> device:
    """The device of new tensors."""
    return settings.default_device


_usual: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
PROFILES = {"default": _usual, "short": _usual | {"precision": 2, "edgeitems": 2}}
PROFILES["full"] = _usual | {"threshold": float("inf")}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed, in `settings.print`. What is None stays as it is."""
    if profile is not None:
        for name, value in PROFILES.get(profile, {}).items():
            setattr(settings.print, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(settings.print, name, value)
    settings.print.sci_mode = sci_mode
