"""Tensor: a strided view of a storage, with a place in the graph of autograd.

What is here is what a tensor *is*: its memory, its metadata, its gradient, its exchange with Python and NumPy. What it
can *do* is declared in `minitorch.ops`, from where all further methods come.
Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from minitorch import devices, dtypes
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.backend import Array
from minitorch.devices import cpu, tensor_device
from minitorch.dtypes import FLOATING, FROM_NUMPY, c_type_name, from_numpy_dtype, get_default_dtype, type_name
from minitorch.layout import contiguous_format, contiguous_stride, is_contiguous
from minitorch.layout import memory_format as MemoryFormat
from minitorch.size import Size
from minitorch.storage import UntypedStorage

if TYPE_CHECKING:
    from minitorch.autograd.hooks import Hooks, RemovableHandle
    from minitorch.autograd.node import AccumulateGrad, Node


class VersionCounter:
    """How often a tensor's memory was written to; all views of it share one counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


UNTRACKED = VersionCounter()
"""The counter of all inference tensors, which don't track their version: that is what makes them inference tensors."""


class _TensorType(type):
    """Prints the class as PyTorch prints its own."""

    def __repr__(cls) -> str:
        module = cls.__module__.replace("minitorch", "torch", 1).removesuffix(".tensor").removesuffix(".tensor_types")
        return f"<class '{module}.{cls.__name__}'>"


class Tensor(metaclass=_TensorType):
    """A multi-dimensional array of one dtype on one device.

    The strided array `_array` stands for (storage, offset, shape, stride): its memory is the storage's.
    The constructor is the legacy one: sizes, or the data themselves, in the default dtype. `minitorch.tensor` is
    better.
    """

    __slots__ = (
        "__dict__",  # the user's own attributes, and the rare ones of autograd that have a default below
        "__weakref__",
        "_array",
        "_base",
        "_counter",
        "_device",
        "_dtype",
        "_grad_fn",
        "_requires_grad",
        "_storage",
    )

    _array: Array
    _base: Tensor | None
    _counter: VersionCounter | None
    _device: devices.device
    _dtype: dtypes.dtype
    _grad_fn: Node | None
    _requires_grad: bool
    _storage: UntypedStorage | None

    _output_nr: int = 0
    _grad: Tensor | None = None
    _accumulator: weakref.ref[AccumulateGrad] | None = None
    _hooks: Hooks | None = None
    _post_accumulate_hooks: Hooks | None = None
    _view_version: int = 0
    _view_made: str | None = None
    """For a view that may not be written to while gradients are recorded: how it was made."""
    _retains_grad: bool = False

    __array_priority__ = 1000  # NumPy leaves `ndarray + tensor` to the tensor

    def __new__(cls, *data: Any, device: Any = None) -> Any:
        from minitorch.tensor_types import legacy_tensor

        if tensor_device(device) is not cpu:
            raise NotImplementedError(f"torch.Tensor(..., device={device!r}) is not supported")
        if len(data) == 1 and isinstance(data[0], Tensor):
            return _as_subclass(data[0].detach(), cls)
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

    # Metadata

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return self._dtype

    @property
    def device(self) -> devices.device:
        """Where the memory is."""
        return self._device

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return _tuple(Size, self._array.shape)  # which needs no check

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension. Raises IndexError when there is no such dimension."""
        return self.shape if dim is None else self._array.shape[self._checked_dim(dim)]

    def stride(self, dim: int | None = None) -> Any:
        """How many elements of the storage lie between neighbours along each dimension, or along one."""
        itemsize = self._dtype.itemsize
        if dim is not None:
            return self.stride()[self._checked_dim(dim)]
        if not self._array.size:  # NumPy has zeros there
            return contiguous_stride(self._array.shape)
        return tuple([step // itemsize for step in self._array.strides])

    def _checked_dim(self, dim: int) -> int:
        from minitorch.ops.errors import check_dim

        if not self._array.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return check_dim(dim, self._array.ndim)

    def storage_offset(self) -> int:
        """The index, in elements, of the first element in the storage."""
        if self._storage is None or not self._array.size:
            return 0
        start = self._device.backend.pointer(self._array) - self._storage.data_ptr()
        return int(start // self._dtype.itemsize)

    def untyped_storage(self) -> UntypedStorage:
        """The memory itself, the same object for all tensors that share it."""
        if self._storage is None:
            self._storage = UntypedStorage(self._array, self._device)
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._device.backend.pointer(self._array) if self._array.size else 0

    def dim(self) -> int:
        """The number of dimensions."""
        return cast(int, self._array.ndim)

    @property
    def ndim(self) -> int:
        return self.dim()

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return cast(int, self._array.size)

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element."""
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.numel() * self._dtype.itemsize

    def is_floating_point(self) -> bool:
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        return self._dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        return self._device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self._device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self._device.type == "meta"

    def get_device(self) -> int:
        """The index of the device; -1 on the CPU."""
        return -1 if self._device.index is None else self._device.index

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in the storage in row-major order, or that of the format, without gaps."""
        if not isinstance(memory_format, MemoryFormat):
            raise TypeError(
                "is_contiguous(): argument 'memory_format' must be torch.memory_format, not "
                f"{type(memory_format).__name__}"
            )
        return is_contiguous(self._array, memory_format)

    # Autograd

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded. Settable on leaves."""
        return self._requires_grad or (self._base is not None and self._base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Has ops on this leaf recorded from now on, or not. Raises RuntimeError for non-leaves and integer tensors."""
        if self._grad_fn is not None and not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                "variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and self._dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self._counter is UNTRACKED and not grad_mode.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for leaves."""
        if self._base is not None and self._counter is not None and self._view_version != self._counter.value:
            from minitorch.autograd.inplace import refresh_view

            refresh_view(self)
        return self._grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this tensor."""
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up so far; None before the first."""
        if self._grad is None and self._requires_grad and self._grad_fn is not None and not self._retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
                "non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, "
                "make sure "
                "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is None:
            self._grad = None
            return
        if not isinstance(grad, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
        if grad is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if grad._dtype is not self._dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{c_type_name(grad._array)}' to a tensor with grad_dtype "
                f"'{type_name(self._array)}'. The gradient must match the tensor's grad_dtype (defaults to the "
                "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may "
                "break downstream systems that assume they match."
            )
        if grad._device is not self._device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{grad._device.type}' to a tensor with device type "
                f"'{self._device.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if grad._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size"
            )
        self._grad = grad

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Adds d(self)/d(leaf) to the `.grad` of every leaf that self was computed from. See `autograd.backward`."""
        from minitorch import autograd

        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self) -> None:
        """Has backward passes fill this non-leaf's `.grad` too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._grad_fn is None or self._retains_grad:
            return
        from minitorch.autograd.hooks import retain_grad

        retain_grad(self)
        self._retains_grad = True

    @property
    def retains_grad(self) -> bool:
        return self._retains_grad

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Has `hook(grad)` called when the gradient of this tensor is known; a result replaces the gradient."""
        from minitorch.autograd.hooks import register_tensor_hook

        return register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Has `hook(self)` called after a backward pass has added to this leaf's `.grad`."""
        from minitorch.autograd.hooks import RemovableHandle

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = {}
        return RemovableHandle(self._post_accumulate_hooks, hook)

    def detach(self) -> Tensor:
        """The same memory and version counter, without history."""
        return self._alias()

    def detach_(self) -> Tensor:
        """Cuts this tensor off from its history. Raises RuntimeError for views."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        self._grad_fn, self._output_nr, self._requires_grad = None, 0, False
        return self

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
        self._array, self._storage = other._array, other.untyped_storage()
        self._dtype, self._device = other._dtype, other._device

    @property
    def _version(self) -> int:
        if self._counter is UNTRACKED:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._counter is None else self._counter.value

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode: it can't take part in what autograd records."""
        return self._counter is UNTRACKED

    def _bump_version(self) -> None:
        if self._counter is None:
            self._counter = VersionCounter()
        if self._counter is not UNTRACKED:
            self._counter.value += 1

    def _alias(self) -> Tensor:
        """Another tensor on the same memory and version counter, without history."""
        alias = make_tensor(self._array, self._dtype, self._device)
        alias._storage = self.untyped_storage()
        if self._counter is None:
            self._counter = VersionCounter()
        alias._counter = self._counter
        return alias

    # Exchange with Python and NumPy

    def item(self) -> Any:
        """The only element as a Python number. Raises RuntimeError when there are more."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        value = self._device.backend.to_host(self._array).reshape(())
        return float(value) if self._dtype.is_low_precision else value.item()

    def tolist(self) -> Any:
        """The elements as (nested lists of) Python numbers."""
        host = self._device.backend.to_host(self._array)
        return (host.astype(np.float64) if self._dtype.is_low_precision else host).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """A NumPy array on the same memory. With `force`, a copy where that is impossible.

        Raises RuntimeError for tensors that require grad, and TypeError for those that NumPy can't hold.
        """
        if force:
            return self.detach().cpu().numpy()
        if self._device.type != "cpu":
            raise TypeError(
                f"can't convert {self._device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host "
                "memory first."
            )
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._dtype.name == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is None:
            return array.copy() if copy else array
        return array.astype(dtype, copy=bool(copy))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
        return from_numpy(np.asarray(array))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A DLPack capsule on the same memory. Raises BufferError for tensors that require grad."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
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
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

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

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((self == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        from minitorch.printing import tensor_repr

        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        from minitorch.printing import tensor_format

        return tensor_format(self, spec)

    def _is_view(self) -> bool:
        """Whether this tensor is a differentiable view of another."""
        return self._base is not None

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
        copy = _as_subclass(make_tensor(self._array.copy(), self._dtype, self._device), type(self))
        copy._requires_grad = self._requires_grad
        memo[id(self)] = copy
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        return copy

    def __reduce_ex__(self, protocol: Any) -> Any:
        host = self._device.backend.to_host(self._array)
        return (
            _rebuild,
            (type(self), np.asarray(host, order="C"), str(self._device), self._requires_grad and self.is_leaf),
        )


_new = object.__new__
_tuple: Callable[[type[Size], tuple[int, ...]], Size] = tuple.__new__


def make_tensor(array: Array, dtype: dtypes.dtype, device: devices.device) -> Tensor:
    """A new tensor whose memory is the array's. The array must hold elements of `dtype` on `device`."""
    tensor: Tensor = _new(Tensor)
    tensor._array = array
    tensor._dtype = dtype
    tensor._device = device
    tensor._storage = None
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
    if counter is UNTRACKED:
        return view
    view._base = source if source._base is None else source._base
    if counter.value:
        view._view_version = counter.value
    if not grad_mode.enabled:
        view._view_made = "in inference mode" if grad_mode.inference else "in no_grad mode"
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
    for name in ("_array", "_dtype", "_device", "_storage", "_counter", "_base", "_grad_fn", "_requires_grad"):
        setattr(instance, name, getattr(tensor, name))
    return instance


def _rebuild(cls: type, array: Any, device_name: str, requires_grad: bool) -> Tensor:
    where = tensor_device(device_name)
    tensor = _as_subclass(make_tensor(where.backend.from_host(array), FROM_NUMPY[array.dtype], where), cls)
    tensor._requires_grad = requires_grad
    return tensor
