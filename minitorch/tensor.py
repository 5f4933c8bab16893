"""Tensor: a strided view of a storage, with a place in the graph of autograd.

What a tensor *is* stands in the bases of the class: its metadata, its place in autograd, its exchange with Python and
NumPy. Here are its parts, and how tensors are made: from arrays, as views, as copies. What it can *do* is declared in
`minitorch.ops`, from where all further methods come.
Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from minitorch import devices, dtypes
from minitorch.autograd.differentiable import UNTRACKED, VersionCounter
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.backend import Array
from minitorch.devices import cpu, tensor_device
from minitorch.dtypes import FLOATING, FROM_NUMPY, from_numpy_dtype, get_default_dtype
from minitorch.exchange import Exchange
from minitorch.storage import UntypedStorage


class _TensorType(type):
    """Prints the class as PyTorch prints its own."""

    def __repr__(cls) -> str:
        module = cls.__module__.replace("minitorch", "torch", 1).removesuffix(".tensor").removesuffix(".tensor_types")
        return f"<class '{module}.{cls.__name__}'>"


class Tensor(Exchange, metaclass=_TensorType):
    """A multi-dimensional array of one dtype on one device.

    The strided array `_array` stands for (storage, offset, shape, stride): its memory is the storage's.
    The constructor is the legacy one: sizes, or the data themselves, in the default dtype. `minitorch.tensor` is
    better.
    """

    __slots__ = ()

    __array_priority__ = 1000  # NumPy leaves `ndarray + tensor` to the tensor

    def __new__(cls, *data: Any, device: Any = None) -> Any:
        from minitorch.ops.shape import alias
        from minitorch.tensor_types import legacy_tensor

        if tensor_device(device) is not cpu:
            raise NotImplementedError(f"torch.Tensor(..., device={device!r}) is not supported")
        if len(data) == 1 and isinstance(data[0], Tensor):
            return _as_subclass(alias(data[0]), cls)
        return _as_subclass(legacy_tensor(data, get_default_dtype()), cls)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the generated methods
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    def detach(self) -> Tensor:
        """The same memory and version counter, without history."""
        return self._alias()

    @property
    def data(self) -> Tensor:
        """The same memory with a version counter of its own: autograd doesn't notice writes through it."""
        alias = self._alias()
        if alias._counter is not UNTRACKED:
            alias._counter = None
        return alias

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
        if other._dtype.category < FLOATING and self._requires_grad:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if other._dtype is not self._dtype or other._device is not self._device:
            self._accumulator = None
        storage = Tensor.untyped_storage(other)  # which a lazy parameter refuses to be asked for
        self._storage, self._array = storage, other._array
        self._dtype, self._device, self._bits = other._dtype, other._device, other._bits

    def _alias(self) -> Tensor:
        """Another tensor on the same memory and version counter, without history."""
        storage = Tensor.untyped_storage(self)  # which a lazy parameter refuses to be asked for
        alias = make_tensor(self._array, self._dtype, self._device)
        alias._storage = storage
        if self._counter is None:
            self._counter = VersionCounter()
        alias._counter = self._counter
        alias._bits = self._bits
        return alias

    def __copy__(self) -> Tensor:
        copy = _as_subclass(self._alias(), type(self))
        copy._requires_grad = self._requires_grad
        copy._grad = self._grad
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  "
                "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm "
                "usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return cast(Tensor, memo[id(self)])
        array = self._elements if self._bits else self._array.copy()
        copy = _as_subclass(make_tensor(array, self._dtype, self._device), type(self))
        copy._requires_grad = self._requires_grad
        memo[id(self)] = copy
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        return copy

    def __reduce_ex__(self, protocol: Any) -> Any:
        from minitorch.pickling import reduced

        return reduced(self)


_new = object.__new__


def make_tensor(array: Array, dtype: dtypes.dtype, device: devices.device) -> Tensor:
    """A new tensor whose memory is the array's. The array must hold elements of `dtype` on `device`."""
    tensor: Tensor = _new(Tensor)
    tensor._array = array
    tensor._dtype = dtype
    tensor._device = device
    tensor._storage = None
    tensor._bits = False  # 0, but quicker to ask
    tensor._counter = UNTRACKED if grad_mode.inference else None
    tensor._base = None
    tensor._grad_fn = None
    tensor._requires_grad = False
    return tensor


def make_view(source: Tensor, array: Array) -> Tensor:
    """A view of `source`: it shares storage and version counter, and knows the tensor that owns the memory."""
    view = make_tensor(array, FROM_NUMPY[array.dtype], source._device)
    storage = source._storage
    if storage is None:
        storage = source._storage = UntypedStorage(source._array, source._device)
    view._storage = storage
    counter = source._counter
    if counter is None:
        counter = source._counter = VersionCounter()
    view._counter = counter
    view._bits = source._bits
    if counter is UNTRACKED:
        return view
    view._base = source if source._base is None else source._base
    if counter.value:
        view._view_version = counter.value
    if not grad_mode.enabled:
        inherited = source._view_made == "in inference mode"
        view._view_made = "in inference mode" if grad_mode.inference or inherited else "in no_grad mode"
    elif source._view_made is not None:
        view._view_made = source._view_made
    return view


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array. Raises TypeError for element types that PyTorch doesn't have."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    kind = from_numpy_dtype(ndarray.dtype)
    if any(step < 0 for step in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    return make_tensor(ndarray, kind, cpu)


def _as_subclass(tensor: Tensor, cls: type) -> Tensor:
    """The same tensor as an object of a subclass of Tensor."""
    if cls is Tensor:
        return tensor
    instance: Tensor = _new(cls)
    for name in ("_array", "_bits", "_dtype", "_device", "_storage", "_counter", "_base", "_grad_fn", "_requires_grad"):
        setattr(instance, name, getattr(tensor, name))
    return instance
