"""The old tensor types: `torch.FloatTensor` and its kin, a dtype each.

They are no classes that tensors are made of: a type object makes tensors of its dtype, and `isinstance` asks for it.
Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch import dtypes
from minitorch.devices import cpu
from minitorch.dtypes import SCALAR_TYPES, dtype
from minitorch.ops.creation.data import tensor
from minitorch.ops.views.shape import alias
from minitorch.size import Size
from minitorch.tensor import Tensor, make_tensor


class tensortype(type):
    """The type of the old tensor types."""

    dtype: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance._dtype is cls.dtype and instance._device is cpu

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        if device is not None and not str(device).startswith("cpu"):
            kind = str(device).partition(":")[0]
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {kind} was passed")
        return legacy_tensor(data, cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def legacy_tensor(data: tuple[Any, ...], kind: dtype) -> Tensor:
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
            return make_tensor(np.zeros(shape, kind.numpy), kind, cpu)
    value = data[0]
    if isinstance(value, Tensor):
        if value._dtype is not kind:
            raise TypeError(f"expected a tensor of dtype {kind}, but got one of dtype {value._dtype}")
        return alias(value)
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(f"new(): data must be a sequence (got {type(value).__name__})")
    if isinstance(value, np.ndarray):
        return tensor(value, dtype=kind, device=cpu)
    return tensor(value, device=cpu).to(kind)


def _make(kind: dtype) -> tensortype:
    return tensortype(f"{SCALAR_TYPES[kind.name]}Tensor", (), {"dtype": kind, "__module__": "torch"})


TYPES = {f"{SCALAR_TYPES[kind.name]}Tensor": _make(kind) for kind in dtypes.DTYPES if not kind.is_complex}

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
    """Sets the default dtype by the name or the type object of an old tensor type. Prefer `set_default_dtype`.

    Source: https://pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html
    """
    name = t if isinstance(t, str) else f"torch.{getattr(t, '__name__', t)}"
    chosen = TYPES.get(name.removeprefix("torch."))
    if chosen is None:
        raise TypeError(f"invalid type object: {name}")
    dtypes.set_default_dtype(chosen.dtype)
