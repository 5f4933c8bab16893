"""The types that annotations of PyTorch programs name. Source: https://github.com/pytorch/pytorch/blob/main/torch/types.py"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Union

from minitorch.devices import device
from minitorch.dtypes import dtype
from minitorch.layout import layout
from minitorch.size import Size
from minitorch.storage import TypedStorage, UntypedStorage
from minitorch.tensor import Tensor

__all__ = ["Device", "FileLike", "IntLikeType", "Number", "Storage"]

_bool, _complex, _dtype, _float, _int, _layout, _size = bool, complex, dtype, float, int, layout, Size | list[int]
Number = Union[int, float, bool]  # noqa: UP007 - programs read its __args__
_Number = int, float, bool
Device = Union[device, str, int, None]  # noqa: UP007
FileLike = Union[str, os.PathLike[str], Any]  # noqa: UP007
Storage = UntypedStorage | TypedStorage
_TensorOrTensors = Tensor | Sequence[Tensor]
PySymType = IntLikeType = int
FloatLikeType, BoolLikeType = float, bool
