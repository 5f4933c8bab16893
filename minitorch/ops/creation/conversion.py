"""Casts, copies, and moves between devices.

Source: https://pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Sequence
from types import NoneType
from typing import Any

from minitorch import dtypes
from minitorch.arrays import Array, Number
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.node import Gradients, Node, gradient_edge
from minitorch.devices import cpu as CPU
from minitorch.devices import device as Device
from minitorch.devices import tensor_device
from minitorch.dispatch.declaration import METHODS, composite, declare, zero_gradient
from minitorch.dispatch.errors import broadcast_clash
from minitorch.dispatch.overlap import ANY_SOURCE, ANY_TARGET, OF_BITS, coincide
from minitorch.dtypes import COMPLEX, DTYPES, FROM_NUMPY, SCALAR_TYPES, dtype, type_name, within_range
from minitorch.dtypes import dtype as DType
from minitorch.layout import (
    contiguous_format,
    copy_in,
    empty_as,
    inverse,
    is_contiguous,
    kept_strides,
    memory_format,
    memory_order,
    preserve_format,
    restrided,
    suggested_format,
)
from minitorch.ops.creation.factory import checked_dtype
from minitorch.ops.creation.filled import filling
from minitorch.ops.naming import called
from minitorch.tensor import Tensor, make_tensor


def cast(xp: Any, array: Array, kind: dtype) -> Array:
    """The elements in another dtype; of complex numbers that become real the real part remains."""
    if array.dtype.kind == "c" and dtypes.BOOL < kind.category < COMPLEX:
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=6)
    array = within_range(xp, array, kind.numpy)
    result = empty_as(xp, array, kind.numpy)
    result[...] = array.real if array.dtype.kind == "c" and result.dtype.kind not in "bc" else array
    return result


@declare(derivatives={"self": lambda grad: grad}, variants="")
def to_copy(xp: Any, self: Array, kind: dtype, format: memory_format) -> Array:
    """The same numbers in another dtype and memory format, always in new memory."""
    if self.dtype.kind == "c" and kind.category < COMPLEX:
        self = cast(xp, self, kind)
    return copy_in(xp, within_range(xp, self, kind.numpy), kind.numpy, format)


class ToDevice(Node):
    """The history of a tensor that was copied from another device: its gradient goes back there."""

    __slots__ = ("_device",)

    def __init__(self, source: Tensor, result: Tensor) -> None:
        super().__init__((gradient_edge(source),), ((result._array.shape, result._dtype, result._device),))
        self._device = source._device

    def name(self) -> str:
        return "ToCopyBackward0"

    def apply(self, grads: Gradients) -> Gradients:
        return (None if grads[0] is None else grads[0].to(self._device),)


def _moved(tensor: Tensor, where: Device) -> Tensor:
    """A copy on another device, with its dimensions in the same order in memory."""
    array = tensor._elements
    order = tuple(reversed(memory_order(array.shape, (array.strides,))))
    host = CPU.xp.asarray(tensor._device.backend.to_host(array.transpose(order)), order="C")
    moved = where.backend.from_host(host).transpose(inverse(order))
    result = make_tensor(restrided(where.xp, moved, kept_strides(array, array.itemsize)), tensor._dtype, where)
    if grad_mode.enabled and tensor.requires_grad:
        result._grad_fn, result._requires_grad = ToDevice(tensor, result), True
    return result


_FORMS: dict[str, tuple[type, ...]] = {
    "other": (Tensor,),
    "dtype": (DType, builtins.type, NoneType),
    "device": (str, Device, int, NoneType),
    "non_blocking": (bool,),
    "copy": (bool,),
}
"""What `to` takes, and of which types."""


def parse_to(
    args: Sequence[Any],
    device: Any = None,
    dtype: Any = None,
    other: Any = None,
    non_blocking: Any = False,
    copy: Any = False,
    memory_format: memory_format | None = None,
) -> tuple[Any, Any, bool, memory_format | None]:
    """The arguments of `to`: device, dtype, whether to copy at any rate, memory format; None for what is not given.

    Raises TypeError for what is none of the forms of `to`.
    """
    named = {"device": device, "dtype": dtype, "other": other, "non_blocking": non_blocking, "copy": copy}
    named = {name: value for name, value in named.items() if value is not None and value is not False}
    first = args[0] if args else other
    if isinstance(first, Tensor):
        names = ["other", "non_blocking", "copy"]
    elif isinstance(first, (DType, builtins.type)):
        names = ["dtype", "non_blocking", "copy"]
    else:
        names = ["device", "dtype", "non_blocking", "copy"]
    given = dict(zip(names, args, strict=False))
    fits = len(args) <= len(names) and not given.keys() & named.keys() and named.keys() <= {*names, "device"}
    fits = fits and not (isinstance(first, Tensor) and "device" in named)
    given |= named
    if not fits or not all(isinstance(value, _FORMS[name]) for name, value in given.items()):
        words = [*map(_kind_of, args), *(f"{name}={_kind_of(value)}" for name, value in named.items())]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(words)}), but expected (device, "
            "dtype), (dtype) or (Tensor), each with non_blocking, copy and memory_format"
        )
    if (like := given.get("other")) is not None:
        given |= {"device": like._device, "dtype": like._dtype}
    return given.get("device"), checked_dtype("to", given.get("dtype")), given.get("copy", False), memory_format


def _kind_of(value: Any) -> str:
    """What an error calls the type of an argument."""
    kind = value.__class__
    return f"torch.{kind.__name__}" if isinstance(value, (DType, Device)) else kind.__name__


@composite(variants="method")
def to(
    self: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """This tensor with another dtype, device or memory format; itself where it has them already and `copy` is False.

    to(dtype), to(device, dtype=None), to(other), each followed by non_blocking and copy. PyTorch takes "cpu:0" for
    another device than "cpu", and copies. Returns a tensor of the same shape; raises TypeError for other arguments.
    """
    device, dtype, copy, memory_format = parse_to(args, device, dtype, other, non_blocking, copy, memory_format)
    kind = dtype or self._dtype
    where = self._device if device is None else tensor_device(device)
    copy = copy or (where is CPU and device is not None and Device(device) is not CPU)
    memory_format = memory_format or preserve_format
    ordered = memory_format is preserve_format or suggested_format(self._array) is memory_format
    if kind is self._dtype and where is self._device and ordered and not copy:
        return self
    if where is not self._device:
        self = _moved(self, where)
        if kind is self._dtype and ordered:
            return self
    return to_copy(self, kind, memory_format)


def _cast_method(name: str, kind: dtype) -> None:
    """The method bool, byte, char, short, int, long, half, bfloat16, float, double, cfloat or cdouble."""

    @composite(variants="method")
    @called(name, f"This tensor in {kind}. Returns a copy, or itself where it has the dtype and no format is named.")
    def method(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
        if input._dtype is kind and memory_format is None:
            return input
        return METHODS["to"](input, kind, memory_format=memory_format or preserve_format)


for _name, _kind in {
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _cast_method(_name, _kind)


@composite(variants="method")
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The old name of dtype and device, "torch.FloatTensor"; or this tensor in a dtype, or of an old type.

    Of a type of GPUs it goes to the current one, unless it is on one. Raises ValueError for the names of other types,
    TypeError for what names none.
    """
    prefix = "torch." if self._device.type == "cpu" else f"torch.{self._device.type}."
    if dtype is None:
        return f"{prefix}{type_name(self)}Tensor"
    if isinstance(dtype, dtypes.dtype):
        return self.to(dtype, non_blocking)
    kind, where = _named_by(dtype)
    return self.to(self._device if self._device.type == where else where, kind, non_blocking)


def _named_by(old_type: Any) -> tuple[dtype, str]:
    """The dtype and the device type of an old type, `torch.FloatTensor` or its name; the dtype of `torch.Tensor` is the
    default one."""
    if not isinstance(old_type, (str, builtins.type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    module = "" if isinstance(old_type, str) else old_type.__module__.replace("minitorch.tensor", "torch") + "."
    name = old_type if isinstance(old_type, str) else module + old_type.__name__
    by_name = {f"{SCALAR_TYPES[each.name]}Tensor": each for each in DTYPES} | {"Tensor": dtypes.get_default_dtype()}
    prefix, _, last = name.rpartition(".")
    if last not in by_name or prefix not in ("torch", "torch.cuda"):
        raise ValueError(f"invalid type: '{old_type if isinstance(old_type, str) else old_type.__name__}'")
    return by_name[last], "cuda" if prefix == "torch.cuda" else "cpu"


@composite(variants="method")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype and on the device of `other`.

    Returns a copy, or the tensor itself where it has both. Raises TypeError where `other` is no tensor.
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"type_as(): argument 'other' (position 1) must be Tensor, not {other.__class__.__name__}")
    return METHODS["to"](self, other)


@composite(variants="method")
def cpu(self: Tensor, memory_format: memory_format = preserve_format) -> Tensor:
    """This tensor in host memory: a copy of its shape and dtype, or itself where it is there already.

    Returns that tensor. Its gradient goes back to where this one lies.
    """
    return METHODS["to"](self, "cpu", memory_format=memory_format)


@composite(variants="method")
def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: memory_format = preserve_format
) -> Tensor:
    """This tensor on a GPU, by default the current one: a copy of its shape and dtype, or itself where it is there.

    Returns that tensor. Its gradient goes back to where this one lies. Raises RuntimeError without a GPU.
    """
    where = "cuda" if device is None else device
    return METHODS["to"](self, where, memory_format=memory_format)


@declare(keyword_only="memory_format", derivatives={"self": lambda grad: grad})
def clone(xp: Any, self: Array, memory_format: memory_format | None = None) -> Array:
    """A copy in new memory, recorded: of the shape and dtype of `input`, and with `preserve_format` of its strides."""
    return copy_in(xp, self, self.dtype, memory_format or preserve_format)


@composite(variants="method")
def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """This tensor with its elements in row-major order, or that of the format; itself where they are.

    Returns a tensor of the same shape and dtype. Raises RuntimeError for `preserve_format`.
    """
    if is_contiguous(self._array, memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self.clone(memory_format=memory_format)


# What is written in place.


def _copies_itself(args: Sequence[Any]) -> bool:
    """Whether a tensor is to get the values that it has."""
    target, source = args[:2]
    same_kind = target._dtype is source._dtype and target._bits == source._bits
    return same_kind and coincide(target._array, source._array)


@declare(
    unchanged=_copies_itself,
    overlap=(OF_BITS,),
    variants="inplace",
    edits=True,
    derivatives={"self": zero_gradient, "src": lambda grad: grad},
    node="torch::autograd::CopyBackwards",
)
def copy(xp: Any, self: Array, src: Array, non_blocking: bool = False) -> Array:
    """Overwrites self with `src`, which is cast and broadcast to fit, and gets its gradient."""
    if src.shape != self.shape:
        clash = broadcast_clash(self.shape, src.shape)
        if clash is not None:
            raise clash
        common = xp.broadcast_shapes(self.shape, src.shape)
        if common != self.shape:
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(common)}")
    self[...] = cast(xp, src, FROM_NUMPY[self.dtype]) if src.dtype.kind == "c" else within_range(xp, src, self.dtype)
    return self


_copy_on_device = METHODS["copy_"]


@composite(variants="method")
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Overwrites this tensor with `other`, which is cast to its dtype, moved and broadcast to its shape.

    Returns the tensor itself; `other` gets its gradient. Raises RuntimeError where the shape doesn't broadcast.
    https://pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
    """
    if isinstance(other, Tensor) and other._device is not self._device:
        other = _moved(other, self._device)
    return _copy_on_device(self, other)


@declare(
    unchanged=lambda args: not isinstance(args[1], Tensor),
    overlap=(ANY_SOURCE,),
    variants="inplace",
    edits=True,
    elementwise=True,
    derivatives={"self": zero_gradient, "value": lambda grad: grad.sum()},
    node=lambda self, value: "FillBackward3" if isinstance(value, Tensor) else "FillBackward2",
)
def fill(xp: Any, self: Array, value: Array | Number) -> Array:
    """One number everywhere. https://pytorch.org/docs/stable/generated/torch.Tensor.fill_.html"""
    if not hasattr(value, "ndim"):
        value = filling(value, self)
    elif value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    self[...] = value
    return self


@declare(overlap=(ANY_TARGET,), variants="inplace", edits=True, derivatives={"self": zero_gradient})
def zero(xp: Any, self: Array) -> Array:
    """Zeros. https://pytorch.org/docs/stable/generated/torch.Tensor.zero_.html"""
    self[...] = 0
    return self
