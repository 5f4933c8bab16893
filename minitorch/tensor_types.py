"""The old tensor types: `torch.FloatTensor` and `torch.cuda.FloatTensor` and their kin, a dtype and a device type each.

They are no classes that tensors are made of: a type object makes tensors of its dtype, and `isinstance` asks for it.
Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch import dtypes
from minitorch.arrays import gpus
from minitorch.devices import cpu, set_home, tensor_device
from minitorch.devices import device as Device
from minitorch.dtypes import SCALAR_TYPES, dtype
from minitorch.ops.creation.data import tensor
from minitorch.ops.views.shape import alias
from minitorch.size import Size
from minitorch.tensor import Tensor, make_tensor
from minitorch.warn_once import warn_once


class tensortype(type):
    """The type of the old tensor types."""

    dtype: dtype
    device_type: str

    def __instancecheck__(cls, instance: Any) -> bool:
        fits = isinstance(instance, Tensor) and instance._device.type == cls.device_type
        return fits and instance._dtype is cls.dtype

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        where = cls.device()
        if device is not None and (kind := Device(device).type) != where.type:
            raise RuntimeError(
                f"legacy constructor expects device type: {where.type} but device type: {kind} was passed"
            )
        return legacy_tensor(data, cls.dtype, where if device is None else tensor_device(device))

    def device(cls) -> Device:
        """Where its tensors are made: on the CPU or the current GPU. Raises TypeError where there is no GPU."""
        if cls.device_type == "cuda" and gpus.library() is None:
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        return tensor_device(cls.device_type)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def legacy_tensor(data: tuple[Any, ...], kind: dtype, where: Device = cpu) -> Tensor:
    """What the old constructors make: of sizes an uninitialised tensor, of a sequence a copy, of a tensor an alias.

    Raises TypeError for anything else, and for a tensor of another dtype.
    """
    if len(data) != 1 or isinstance(data[0], (int, Size)):
        shape = tuple(data[0]) if len(data) == 1 and isinstance(data[0], Size) else data
        if not data:
            shape = (0,)
        for position, size in enumerate(shape, start=1):
            if not isinstance(size, int) or isinstance(size, bool):
                raise TypeError(
                    f"new(): argument 'size' failed to unpack the object at pos {position} with error "
                    f'"type must be tuple of ints,but got {type(size).__name__}"'
                )
        if len(data) != 1 or not isinstance(data[0], bool):
            if shape and min(shape) < 0:
                negative = next(size for size in shape if size < 0)
                raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {list(shape)}")
            return make_tensor(where.xp.zeros(shape, kind.numpy), kind, where)
    value = data[0]
    if isinstance(value, Tensor):
        if value._device.type != where.type:
            raise TypeError(f"expected a tensor of {where.type}, but got one of {value._device.type}")
        if value._dtype is not kind:
            raise TypeError(f"expected a tensor of dtype {kind}, but got one of dtype {value._dtype}")
        return alias(value)
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(f"new(): data must be a sequence (got {type(value).__name__})")
    if isinstance(value, np.ndarray):
        return tensor(value, dtype=kind, device=where)
    return tensor(value, device=where).to(kind)


def _make(kind: dtype, device_type: str) -> tensortype:
    module = "torch" if device_type == "cpu" else f"torch.{device_type}"
    parts = {"dtype": kind, "device_type": device_type, "__module__": module}
    return tensortype(f"{SCALAR_TYPES[kind.name]}Tensor", (), parts)


_KINDS = [kind for kind in dtypes.DTYPES if not kind.is_complex]
TYPES = {f"{SCALAR_TYPES[kind.name]}Tensor": _make(kind, "cpu") for kind in _KINDS}
GPU_TYPES = {f"{SCALAR_TYPES[kind.name]}Tensor": _make(kind, "cuda") for kind in _KINDS}

BoolTensor = TYPES["BoolTensor"]
ByteTensor = TYPES["ByteTensor"]
CharTensor = TYPES["CharTensor"]
ShortTensor = TYPES["ShortTensor"]
IntTensor = TYPES["IntTensor"]
LongTensor = TYPES["LongTensor"]
HalfTensor = TYPES["HalfTensor"]
BFloat16Tensor = TYPES["BFloat16Tensor"]
FloatTensor = TYPES["FloatTensor"]
DoubleTensor = TYPES["DoubleTensor"]


def set_default_tensor_type(t: Any, /) -> None:
    """Sets the default dtype, and where tensors are made without a device, by an old tensor type or its name.

    Prefer `set_default_dtype` and `set_default_device`, which goes first. Raises TypeError for what is no such type,
    and for a type of GPUs without one.
    Source: https://pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html
    """
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    name = t if isinstance(t, str) else f"{getattr(t, '__module__', 'torch')}.{getattr(t, '__name__', t)}"
    on_gpu = name.startswith("torch.cuda.")
    chosen = (GPU_TYPES if on_gpu else TYPES).get(name.removeprefix("torch.").removeprefix("cuda."))
    if chosen is None:
        raise TypeError(f"invalid type object: {name}")
    chosen.device()
    dtypes.set_default_dtype(chosen.dtype)
    set_home(chosen.device_type)
