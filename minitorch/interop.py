"""Sharing memory with other libraries: DLPack both ways, and Python's buffers.

Source: https://pytorch.org/docs/stable/dlpack.html, https://dmlc.github.io/dlpack/latest/
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch.devices import cpu
from minitorch.dtypes import dtype as DType
from minitorch.dtypes import from_numpy_dtype
from minitorch.tensor import Tensor, make_tensor


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of anything that speaks DLPack, or of a capsule of host memory.

    Raises TypeError for what doesn't. Source: https://pytorch.org/docs/stable/generated/torch.from_dlpack.html
    """
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.detach().clone() if copy else ext_tensor.detach()
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = np.asarray(_Writable(np.from_dlpack(_Exporter(ext_tensor))))
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack expects an object with __dlpack__, not {type(ext_tensor).__name__}")
    if device is not None and not str(device).startswith("cpu"):
        raise NotImplementedError(f"from_dlpack: device={device!r} is not supported")
    array = ext_tensor if isinstance(ext_tensor, np.ndarray) else np.from_dlpack(ext_tensor)
    if copy:
        array = array.copy()
    return make_tensor(array, from_numpy_dtype(array.dtype), cpu)


class _Exporter:
    """What hands out a capsule that is there already, which is how NumPy takes one."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the host


class _Writable:
    """The memory of an array that NumPy took to be read-only, since older capsules don't say."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that `from_dlpack` makes a tensor of, once, on the same memory."""
    return tensor.__dlpack__()


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor on the memory of a Python buffer, `count` elements (-1: all) from byte `offset` on.

    Raises ValueError where the buffer doesn't hold them.
    Source: https://pytorch.org/docs/stable/generated/torch.frombuffer.html
    """
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size = dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    elements = (length - offset) // size if count < 0 else count
    if offset + elements * size > length:
        raise ValueError(
            f"requested buffer length ({elements} * {size} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({length} bytes)"
        )
    array = np.frombuffer(buffer, np.uint8, elements * size, offset).view(dtype.numpy)
    made = make_tensor(array, dtype, cpu)
    return made.requires_grad_() if requires_grad else made
