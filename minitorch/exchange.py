"""How a tensor turns into Python's numbers and lists, NumPy's arrays, and text."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from minitorch.autograd.differentiable import Differentiable
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.bits import CONJUGATE, NEGATIVE
from minitorch.dtypes import FLOATING

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


_BITS = ((CONJUGATE, "conjugate", "resolve_conj"), (NEGATIVE, "negative", "resolve_neg"))


@functools.cache
def _warn_of_gradient() -> None:
    """Warns, once in a process as PyTorch does."""
    warnings.warn(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first.",
        UserWarning,
        stacklevel=3,
    )


class Exchange(Differentiable):
    """The part of Tensor that other objects are made with."""

    __slots__ = ()

    def item(self) -> Any:
        """The only element as a Python number. Raises RuntimeError when there are more."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        value = self._device.backend.to_host(self._elements).reshape(())
        return float(value) if self._dtype.is_low_precision else value.item()

    def tolist(self) -> Any:
        """The elements as (nested lists of) Python numbers."""
        host = self._device.backend.to_host(self._elements)
        return (host.astype(np.float64) if self._dtype.is_low_precision else host).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """A NumPy array on the same memory. With `force`, a copy where that is impossible.

        Raises RuntimeError for tensors that require grad or have a bit set, and TypeError for those that NumPy can't
        hold.
        """
        if force:
            return cast("Tensor", self).detach().cpu().resolve_conj().resolve_neg().numpy()
        if self._device.type != "cpu":
            raise TypeError(
                f"can't convert {self._device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first."
            )
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        for bit, name, method in _BITS:
            if self._bits & bit:
                raise RuntimeError(
                    f"Can't call numpy() on Tensor that has {name} bit set. Use tensor.{method}().numpy() instead."
                )
        if self._dtype.name == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is None:
            return array.copy() if copy else array
        return array.astype(dtype, copy=bool(copy))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
        from minitorch.tensor import from_numpy

        return from_numpy(np.asarray(array))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A DLPack capsule on the same memory. Raises BufferError for tensors that require grad or have a bit set."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        for bit, name, _ in _BITS:
            if self._bits & bit:
                raise BufferError(f"Can't export tensors with the {name} bit set")
        return self._array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's (device type, index)."""
        kind, index = self._array.__dlpack_device__()
        return int(kind), int(index)

    def __bool__(self) -> bool:
        if self._array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self._array.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._only())

    def __float__(self) -> float:
        if self.requires_grad and grad_mode.enabled:
            _warn_of_gradient()
        return float(self._only())

    def __complex__(self) -> complex:
        if self.requires_grad and grad_mode.enabled:
            _warn_of_gradient()
        return complex(self._only())

    def _only(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

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
        return iter(cast("Tensor", self).unbind(0))

    def __contains__(self, element: Any) -> bool:
        from minitorch.tensor import Tensor

        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((cast("Tensor", self) == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        from minitorch.printing import tensor_repr

        return tensor_repr(cast("Tensor", self))

    def __format__(self, spec: str) -> str:
        from minitorch.printing import tensor_format

        return tensor_format(cast("Tensor", self), spec)
