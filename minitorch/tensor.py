"""Tensor: a strided view of a storage, with a place in the graph of autograd.

Here is what a tensor *is*: its parts, what it says of itself, and how tensors are made: from arrays, as views, as
copies. How it turns into Python's numbers and other libraries' arrays is `convertible`, its place in autograd is
`autograd.differentiable`. What it can *do* is declared in `minitorch.ops`, from where all further methods come.
Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

from minitorch import devices, dtypes
from minitorch.arrays import Array, gpus
from minitorch.autograd.differentiable import UNTRACKED, VersionCounter
from minitorch.autograd.grad_mode import INFERRING
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.views import INFERENCE, NO_GRAD
from minitorch.bits import resolved
from minitorch.convertible import Convertible
from minitorch.devices import cpu
from minitorch.dtypes import FLOATING, FROM_NUMPY, get_default_dtype
from minitorch.layout import contiguous_format, is_contiguous, restrided, strides_of
from minitorch.layout import memory_format as MemoryFormat
from minitorch.printing import tensor_format, tensor_repr
from minitorch.size import Size, check_dim
from minitorch.storage import Reference, TypedStorage, UntypedStorage, warn_of_typed_storage

_tuple: Callable[[type[Size], tuple[int, ...]], Size] = tuple.__new__


class _TensorType(type):
    """Prints the class as PyTorch prints its own."""

    def __repr__(cls) -> str:
        module = cls.__module__.replace("minitorch", "torch", 1).removesuffix(".tensor").removesuffix(".tensor_types")
        return f"<class '{module}.{cls.__qualname__}'>"


class Tensor(Convertible, metaclass=_TensorType):
    """A multi-dimensional array of one dtype on one device.

    The strided array `_array` stands for (storage, offset, shape, stride): its memory is the storage's, shape and
    strides are its own. What the elements are depends on `_bits` too (see `bits`), so who wants to know these reads
    `_elements`, and who overwrites them calls `_put`.
    The constructor is the legacy one: sizes, or the data themselves, in the default dtype. `minitorch.tensor` is
    better.
    """

    __slots__ = ("_array", "_bits", "_device", "_dtype", "_storage")

    _array: Array
    _bits: int
    _device: devices.device
    _dtype: dtypes.dtype
    _storage: UntypedStorage | None

    __array_priority__ = 1000  # NumPy leaves `ndarray + tensor` to the tensor

    def __new__(cls, *data: Any, device: Any = None) -> Any:
        if device is not None and (where := devices.device(device).type) != "cpu":
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {where} was passed")
        kind = get_default_dtype()
        return _as_subclass(make_tensor(cpu.xp.empty(0, kind.numpy), kind, cpu).new(*data), cls)

    # What it says of itself

    @property
    def dtype(self) -> dtypes.dtype:
        """Returns the type of the elements, a `torch.dtype`."""
        return self._dtype

    @property
    def device(self) -> devices.device:
        """Returns where the memory is, a `torch.device`: "cpu", "cuda:0", or "meta" for a tensor without elements."""
        return self._device

    @property
    def shape(self) -> Size:
        """The size of each dimension. Returns a `torch.Size`, a tuple."""
        return _tuple(Size, self._array.shape)  # which needs no check

    def size(self, dim: int | None = None) -> Any:
        """Returns the shape, or the size of one dimension, an int. Raises IndexError if there is no such dimension."""
        return self.shape if dim is None else self._array.shape[self._checked_dim(dim)]

    def stride(self, dim: int | None = None) -> Any:
        """Returns how many elements lie between neighbours along each dimension, or along one. Raises IndexError."""
        itemsize = self._dtype.itemsize
        if dim is not None:
            return self.stride()[self._checked_dim(dim)]
        strides = strides_of(self._array) if self._storage is None else self._array.strides
        return tuple([step // itemsize for step in strides])

    def _checked_dim(self, dim: int) -> int:
        if not self._array.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return check_dim(dim, self._array.ndim)

    @property
    def _elements(self) -> Array:
        """The elements: the array itself, or of a conjugate or negative view an array of its own."""
        return resolved(self._device.xp, self._array, self._bits) if self._bits else self._array

    def _put(self, array: Array) -> None:
        """Overwrites the elements with those of an array that is broadcast to the shape, and counts no version."""
        if gpus.in_use and (elsewhere := gpus.elsewhere([self])):
            with elsewhere:
                return self._put(array)
        self._array[...] = resolved(self._device.xp, array, self._bits) if self._bits else array

    def storage_offset(self) -> int:
        """Where in the storage the first element lies, counted in elements. Returns an int."""
        if self._storage is None:
            return 0
        pointer = self._device.backend.pointer
        return int((pointer(self._array) - pointer(self._storage._bytes)) // self._dtype.itemsize)

    def untyped_storage(self) -> UntypedStorage:
        """Returns the memory itself, without shape and dtype: the same object for all tensors that share it."""
        if self._storage is None:
            if not self._array.size:
                self._array = restrided(self._device.xp, self._array, strides_of(self._array))
            self._storage = UntypedStorage(self._array, self._device)
            self._storage._tensors.add(Reference(self, self._storage._forget))
        return self._storage

    def storage(self) -> TypedStorage:
        """The memory as elements of this tensor's dtype. Deprecated, with a warning: see `untyped_storage`.

        Returns a `torch.TypedStorage`.
        """
        warn_of_typed_storage()
        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self._dtype)

    def data_ptr(self) -> int:
        """The address of the first element; 0 if there is none. Returns an int."""
        return self._device.backend.pointer(self._array) if self._array.size and not self.is_meta else 0

    def dim(self) -> int:
        """The number of dimensions: 0 for a scalar, 2 for a matrix. Returns an int."""
        ndim: int = self._array.ndim
        return ndim

    @property
    def ndim(self) -> int:
        """The number of dimensions, as `dim()` says it. Returns an int."""
        return self.dim()

    ndimension = dim

    def numel(self) -> int:
        """Returns the number of elements, an int. https://pytorch.org/docs/stable/generated/torch.numel.html"""
        size: int = self._array.size
        return size

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element: 4 for float32. Returns an int."""
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of one element, as `element_size()` says it. Returns an int."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, whether or not they share memory: numel() · itemsize. Returns an int."""
        return self.numel() * self._dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating-point one; complex dtypes are not.

        Returns a bool. Source: https://pytorch.org/docs/stable/generated/torch.is_floating_point.html
        """
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex64, complex128 or complex32.

        Returns a bool. Source: https://pytorch.org/docs/stable/generated/torch.is_complex.html
        """
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        """Returns whether the dtype has negative numbers, a bool.

        Source: https://pytorch.org/docs/stable/generated/torch.Tensor.is_signed.html
        """
        return self._dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor is on a GPU. Returns a bool."""
        return self._device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is on the CPU. Returns a bool."""
        return self._device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor is on the meta device: it has a shape and a dtype, and no elements. Returns a bool."""
        return self._device.type == "meta"

    def get_device(self) -> int:
        """Returns the index of the device, an int; -1 on the CPU.

        Source: https://pytorch.org/docs/stable/generated/torch.Tensor.get_device.html
        """
        return -1 if self._device.index is None else self._device.index

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in the storage in row-major order, or that of the format, without gaps.

        Returns a bool. Raises TypeError for what is no `torch.memory_format`.
        """
        if not isinstance(memory_format, MemoryFormat):
            raise TypeError(
                "is_contiguous(): argument 'memory_format' must be torch.memory_format, not "
                f"{type(memory_format).__name__}"
            )
        return is_contiguous(self._array, memory_format)

    # The same memory, and copies

    def detach(self) -> Tensor:
        """Returns a tensor of the same memory, shape, dtype and version counter, without history. https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html"""
        return self._alias() if self.__class__ is Tensor else Tensor._detached(self)

    @property
    def data(self) -> Tensor:
        """The same memory with a version counter of its own: autograd doesn't notice writes through it.

        Returns a leaf of the same shape. May be set; raises TypeError for no tensor, RuntimeError for a wrong dtype.
        """
        alias = Tensor.detach(self)  # which a lazy parameter refuses to be asked for
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
        storage._take_in(self)
        self._array = other._array
        self._dtype, self._device, self._bits = other._dtype, other._device, other._bits

    def _alias(self) -> Tensor:
        """Another tensor on the same memory and version counter, without history."""
        if self._storage is None:
            Tensor.untyped_storage(self)  # which settles the strides of an array without elements
        return make_view(self, self._array, detached=True)

    def __copy__(self) -> Tensor:
        copy = _as_subclass(self._alias(), type(self))
        copy._requires_grad = self._requires_grad
        copy.__dict__.update(self.__dict__)
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.grad_fn is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a "
                "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return cast(Tensor, memo[id(self)])
        array = self._elements if self._bits else self._device.xp.array(self._array)
        copy = _as_subclass(make_tensor(array, self._dtype, self._device), type(self))
        copy._requires_grad = self._requires_grad
        memo[id(self)] = copy
        if self._grad is not None:
            copy._grad = self._grad.__deepcopy__(memo)
        copy.__dict__.update(deepcopy(self.__dict__, memo))
        return copy

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        return tensor_format(self, spec)


_new = object.__new__


def make_tensor(array: Array, dtype: dtypes.dtype, device: devices.device) -> Tensor:
    """A new tensor whose memory is the array's. The array must hold elements of `dtype` on `device`."""
    tensor: Tensor = _new(Tensor)
    tensor._array = array
    tensor._dtype = dtype
    tensor._device = device
    tensor._storage = None
    tensor._bits = False  # 0, but quicker to ask
    tensor._counter = UNTRACKED if INFERRING and grad_mode.inference else None
    tensor._base = None
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._requires_grad = False
    tensor._holders = 0
    tensor._extras = None
    return tensor


def make_view(source: Tensor, array: Array, detached: bool = False) -> Tensor:
    """A view of `source`: it shares storage and version counter, and knows the tensor that owns the memory.

    One that is `detached` doesn't know it: to autograd it is another tensor on the same memory.
    """
    storage, counter = source._storage, source._counter
    if storage is None:
        storage = Tensor.untyped_storage(source)  # which a lazy parameter refuses to be asked for
    if counter is None:
        counter = source._counter = VersionCounter()
    view: Tensor = _new(Tensor)
    view._array = array
    view._dtype = FROM_NUMPY[array.dtype]
    view._device = source._device
    view._storage = storage
    view._bits = source._bits
    view._counter = counter
    view._base = None
    view._grad_fn = None
    view._output_nr = 0
    view._requires_grad = False
    view._holders = 0
    view._extras = None
    storage._tensors.add(Reference(view, storage._forget))
    if detached or counter is UNTRACKED:
        return view
    view._base = source if source._base is None else source._base
    view._view_version = counter.value
    made = None if source._base is None else source._view_made
    if not grad_mode.enabled:
        made = INFERENCE if grad_mode.inference or made == INFERENCE else NO_GRAD
    view._view_made = made
    return view


def holds_somewhere(mask: Tensor) -> bool:
    """Whether a mask is True somewhere, for derivatives that have another formula then. The meta device says no."""
    while (value := getattr(mask, "_value", None)) is not None:
        mask = value  # all examples of a `vmap`
    return not mask.is_meta and bool(mask.any())


_STATE = (*Tensor.__slots__, "_base", "_counter", "_grad_fn", "_output_nr", "_requires_grad")


def _as_subclass(tensor: Tensor, cls: type) -> Tensor:
    """The same tensor as an object of a subclass of Tensor."""
    if cls is Tensor:
        return tensor
    instance: Tensor = _new(cls)
    for name in _STATE if tensor._base is None else (*_STATE, "_view_made", "_view_version"):
        setattr(instance, name, getattr(tensor, name))
    instance._holders, instance._extras = 0, None
    if instance._storage is not None:
        instance._storage._take_in(instance)
    return instance
