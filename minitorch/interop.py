"""Tensors on the memory of other libraries: of NumPy's arrays, DLPack's capsules, and Python's buffers.

Source: https://pytorch.org/docs/stable/dlpack.html, https://dmlc.github.io/dlpack/latest/
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch.devices import cpu, dlpack_device
from minitorch.devices import device as Device
from minitorch.dtypes import dtype as DType
from minitorch.dtypes import from_numpy_dtype
from minitorch.tensor import Tensor, make_tensor
from minitorch.warn_once import warn_once

_NOT_WRITABLE = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array, of its shape and dtype; of a masked array, the elements as they are.

    Returns the tensor: what is written into one is seen in the other. Warns once if the array can't be written to.
    Raises TypeError for what is no array and for element types that PyTorch doesn't have, and ValueError for another
    byte order or negative strides.
    Source: https://pytorch.org/docs/stable/generated/torch.from_numpy.html
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        warn_once(_NOT_WRITABLE)
    kind = from_numpy_dtype(ndarray.dtype)
    if any(step < 0 for step in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    return make_tensor(ndarray if ndarray.__class__ is np.ndarray else ndarray.view(np.ndarray), kind, cpu)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of anything that speaks DLPack, or of a capsule of host memory: of its shape and dtype.

    Raises RuntimeError for what is no capsule or has been used, ValueError for a device or a copy that can't be had,
    AssertionError for arguments that a capsule doesn't take.
    https://pytorch.org/docs/stable/generated/torch.from_dlpack.html
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        return _of_capsule(ext_tensor)
    origin = ext_tensor.__dlpack_device__()
    moves = device is not None and _wanted(device) != origin
    if moves and copy is False:
        raise ValueError(
            f"cannot move DLPack tensor from device {origin} to {_wanted(device)} without copying. Set copy=None or "
            "copy=True."
        )
    if isinstance(ext_tensor, Tensor):
        ext_tensor._check_exportable()
        shared = make_tensor(ext_tensor._array, ext_tensor._dtype, ext_tensor._device)  # with a version of its own
    elif isinstance(ext_tensor, np.ndarray):  # itself, so that the tensor knows whether it may be written
        ext_tensor.__dlpack__(max_version=(1, 0))  # for NumPy's errors
        shared = _of_array(ext_tensor)
    else:
        shared = _of_array(np.from_dlpack(ext_tensor))
    if moves:
        return shared.to(device)
    return shared.clone() if copy else shared


def _wanted(device: Any) -> tuple[int, int]:
    """DLPack's numbers of the device that the tensor shall lie on."""
    if isinstance(device, str):
        device = Device(device)
    if not isinstance(device, Device):
        raise AssertionError(f"from_dlpack: unsupported device type: {type(device)}")
    if device.type == "meta":
        raise BufferError("Cannot pack tensors on meta")
    kind, index = dlpack_device(device)
    return int(kind), index


def _of_array(array: NDArray[Any]) -> Tensor:
    return make_tensor(array, from_numpy_dtype(array.dtype), cpu)


def _of_capsule(capsule: Any) -> Tensor:
    """A tensor on the memory of a capsule. Whoever takes the memory renames the capsule, so it works once."""
    if type(capsule).__name__ != "PyCapsule" or '"dltensor' not in repr(capsule):
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
            "might have already constructed a tensor from it once."
        )
    return _of_array(np.asarray(_Writable(np.from_dlpack(_Exporter(capsule)))))


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
    """Returns a capsule that `from_dlpack` makes a tensor of, once, on the same memory, of the same shape and dtype.

    Source: https://pytorch.org/docs/stable/dlpack.html
    """
    return tensor.detach().__dlpack__()


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
