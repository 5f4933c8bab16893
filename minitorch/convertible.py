"""A tensor as others see it: Python's numbers and lists, NumPy's arrays, and the protocols by which memory is shared.

Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from minitorch.autograd.differentiable import Differentiable
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.bits import CONJUGATE, NEGATIVE
from minitorch.devices import DLDeviceType, dlpack_device
from minitorch.dtypes import FLOATING, SCALAR_TYPES
from minitorch.layout import contiguous_format, is_contiguous
from minitorch.warn_once import warn_once

if TYPE_CHECKING:
    from minitorch.arrays import Array
    from minitorch.methods import Methods
    from minitorch.tensor import Tensor
else:
    Methods = object

_BITS = ((CONJUGATE, "conjugate", "resolve_conj"), (NEGATIVE, "negative", "resolve_neg"))


def _warn_of_gradient() -> None:
    warn_once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first.",
        stacklevel=3,
    )


class Convertible(Differentiable, Methods):
    """The part of Tensor that gives its elements to Python and to other libraries."""

    __slots__ = ()

    if TYPE_CHECKING:  # what Tensor adds
        _bits: int

        @property
        def _elements(self) -> Array: ...

        def data_ptr(self) -> int: ...

    def item(self) -> Any:
        """The only element, as a Python number: an int, a float, a bool or a complex, by the dtype.

        Returns the number. Raises RuntimeError unless there is exactly one element, and on the meta device.
        """
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        if self._device.type == "meta":
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        value = self._device.backend.to_host(self._elements).reshape(())
        return float(value) if self._dtype.is_low_precision else value.item()

    def tolist(self) -> Any:
        """The elements as Python numbers: a list for each dimension, nested, or of a 0-d tensor the number.

        Returns them.
        """
        host = self._device.backend.to_host(self._elements)
        return (host.astype(np.float64) if self._dtype.is_low_precision else host).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The elements as a NumPy array of the same shape and dtype, on the same memory.

        Returns the array; with `force`, one of a copy where sharing is impossible. Raises RuntimeError for tensors that
        require grad, where operations are recorded, and for those that have a bit set; TypeError for those that NumPy
        can't hold.
        """
        if force:
            return cast("Tensor", self).detach().cpu().resolve_conj().resolve_neg().numpy()
        if self._device.type != "cpu":
            raise TypeError(
                f"can't convert {self._device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first."
            )
        if self.requires_grad and grad_mode.asked:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        for bit, name, method in _BITS:
            if self._bits & bit:
                raise RuntimeError(
                    f"Can't call numpy() on Tensor that has {name} bit set. Use tensor.{method}().numpy() instead."
                )
        if self._dtype.name.startswith(("bfloat16", "float8")):
            raise TypeError(f"Got unsupported ScalarType {SCALAR_TYPES[self._dtype.name]}")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is None:
            return array.copy() if copy else array
        return array.astype(dtype, copy=bool(copy))

    def __dlpack__(
        self, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A DLPack capsule on the same memory, of the same shape and dtype.

        Returns the capsule. Raises BufferError for tensors that require grad or have a bit set, and on the meta device;
        TypeError and AssertionError for a stream that isn't one.
        Source: https://dmlc.github.io/dlpack/latest/python_spec.html
        """
        self._check_exportable()
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if stream == -1:
            stream = None
        if stream is not None and self._device.type == "cpu":
            raise AssertionError("stream should be None on cpu.")
        if self._device.type == "meta":
            raise BufferError("Cannot pack tensors on meta")
        return self._array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def _check_exportable(self) -> None:
        """Raises BufferError if another library, which sees only the elements, would take them for something else."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        for bit, name, _ in _BITS:
            if self._bits & bit:
                raise BufferError(f"Can't export tensors with the {name} bit set")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where other libraries find the elements in GPU memory. Raises AttributeError for tensors on other devices.

        Source: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
        """
        if self._device.type != "cuda":
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required "
                "use tensor.cuda() to copy tensor to device memory."
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
                "var.detach() to get Variable that doesn't require grad."
            )
        return {
            "typestr": self._dtype.numpy.str,
            "shape": self._array.shape,
            "strides": None if is_contiguous(self._array, contiguous_format) else self._array.strides,
            "data": (self.data_ptr(), False),
            "version": 2,
        }

    def __dlpack_device__(self) -> tuple[DLDeviceType, int]:
        """DLPack's (device type, index). Raises ValueError for devices that it has no number for."""
        return dlpack_device(self._device)

    def __bool__(self) -> bool:
        if self._array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self._array.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._real("int64_t"))

    def __float__(self) -> float:
        if self.requires_grad and grad_mode.enabled:
            _warn_of_gradient()
        return float(self._real("double"))

    def __complex__(self) -> complex:
        if self.requires_grad and grad_mode.enabled:
            _warn_of_gradient()
        return complex(self._only())

    def _only(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _real(self, target: str) -> Any:
        """The only element as a real number, of which the imaginary part has to be 0."""
        value = self._only()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError(f"value cannot be converted to type {target} without overflow")
            return value.real
        return value

    def __index__(self) -> int:
        if self._dtype.category >= FLOATING or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Convertible, int, float, complex, bool)):
            return bool(self.eq(element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
