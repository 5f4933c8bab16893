"""What programs ask of a tensor and do to one beside computing: questions, old spellings, Python loops over elements.

Source: https://pytorch.org/docs/stable/tensors.html
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from minitorch.arrays import pinned
from minitorch.autograd.engine import sum_to_size as summed
from minitorch.autograd.grad_mode import no_grad
from minitorch.devices import cpu, tensor_device
from minitorch.dispatch.apply import function_of
from minitorch.dispatch.declaration import METHODS, OPS, composite
from minitorch.dtypes import int64, type_name
from minitorch.layout import memory_format, strided, strides_of
from minitorch.ops.creation import conversion  # noqa: F401 - declares `fill_`, whose kernel `fill` runs
from minitorch.ops.creation.data import tensor
from minitorch.ops.views.shape import alias
from minitorch.size import checked_ints
from minitorch.tensor import Tensor, make_tensor
from minitorch.tensor_types import legacy_tensor
from minitorch.warn_once import warn_once


@composite()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal. PyTorch has no page about it."""
    return input.shape == other.shape


@composite()
def is_distributed(input: Tensor) -> bool:
    """False: a tensor lies on one device. PyTorch has no page about it."""
    return False


@composite(variants="function")
def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raises RuntimeError with a message if the only element of a tensor is zero. PyTorch's waits for no GPU."""
    if not input:
        raise RuntimeError(assert_msg)


@composite(variants="method")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory, and no conjugate or negative one."""
    return (
        not self._bits | tensor._bits
        and self.untyped_storage() is tensor.untyped_storage()
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


@composite(variants="method")
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked, so that GPUs copy out of it directly, a bool."""
    if device is not None:
        _warn_of_pinning("is_pinned")
    return self.untyped_storage().is_pinned()


@composite(variants="method")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """This tensor in page-locked memory: itself if it lies there, else a copy of its shape and dtype.

    Raises RuntimeError without a GPU, and for a tensor that isn't on the CPU.
    """
    if device is not None:
        _warn_of_pinning("pin_memory")
    if not self.is_cpu:
        kind = self.type() if self.is_cuda else f"Meta{type_name(self)}Type"
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    if self.is_pinned():
        return self
    memory = pinned.allocate(cpu.backend.as_bytes(self._array).size)
    array = cpu.backend.strided(memory, self._array.dtype, 0, self._array.shape, strides_of(self._array))
    return make_tensor(array, self._dtype, cpu).copy_(self)


def _warn_of_pinning(name: str) -> None:
    warn_once(
        f"The argument 'device' of Tensor.{name}() is deprecated. Please do not pass this argument.",
        DeprecationWarning,
        stacklevel=4,
    )


@composite(variants="method")
def record_stream(self: Tensor, s: Any) -> None:
    """Has the memory of all elements stay until the stream `s` is done with it: who frees it waits for the stream.

    Raises NotImplementedError for a tensor that isn't on a GPU.
    """
    if not self.is_cuda:
        raise NotImplementedError(
            f"Could not run 'aten::record_stream' with arguments from the '{self._device.type.upper()}' backend."
        )
    weakref.finalize(self.untyped_storage(), s.synchronize)


@composite(variants="method")
def dim_order(self: Tensor, *, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
    """The dimensions, from the one with the largest stride to the one with the smallest.

    Raises RuntimeError if asked to check and the order isn't the only one: dimensions of size 1 or neighbours with
    equal strides leave it open, unless exactly one of the formats given as `ambiguity_check` fits. Raises TypeError
    for an `ambiguity_check` that is neither a bool nor a list of formats.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(each, memory_format) for each in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    is_open = 1 in self.shape or any(one == other for one, other in pairwise(strides))
    fitting = sum(self.is_contiguous(memory_format=each) for each in formats)
    if ambiguity_check is not False and is_open and fitting != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return tuple(sorted(range(self.dim()), key=lambda dim: -strides[dim]))


_ATTRIBUTES = "https://pytorch.org/docs/stable/tensor_attributes.html"


def _answer(value: Any, explanation: str) -> Any:
    return property(lambda self: value, doc=f"{explanation}\n\nSource: {_ATTRIBUTES}")


METHODS["layout"] = _answer(strided, "How elements lie in memory: by a stride for each dimension. Returns `strided`.")
METHODS["name"] = _answer(None, "A string in PyTorch's old graphs. Returns None.")
_OTHER_KINDS = "sparse sparse_csr quantized mkldnn nested mps xpu xla vulkan ipu mtia maia"
for _kind in _OTHER_KINDS.split():
    METHODS["is_" + _kind] = _answer(False, f"Whether the tensor is of the kind {_kind}. Returns False, a bool.")


@composite(variants="method")
def new(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    """The old constructor: takes sizes, or the data themselves. `new_tensor` is better.

    Returns a tensor of this one's dtype and device. Raises NotImplementedError for another device.
    Source: https://pytorch.org/docs/stable/tensors.html
    """
    if device is not None and tensor_device(device) is not self.device:
        raise NotImplementedError(f"new(): device={device!r} is not supported")
    if len(data) == 1 and isinstance(data[0], Tensor):
        return alias(data[0])
    return legacy_tensor(data, self.dtype).to(self.device)


@composite(variants="method")
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions along which `size` would be broadcast to this shape.

    Returns a tensor of the shape `size`. Raises RuntimeError if that can't be broadcast to this shape.
    """
    shape = checked_ints("sum_to_size", size)
    tail = self.shape[self.dim() - len(shape) :] if len(shape) <= self.dim() else ()
    if len(tail) != len(shape) or any(want not in (1, have) for want, have in zip(shape, tail, strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    return summed(self, shape) if shape else self.sum()


@composite(variants="method")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """One number on the main diagonal; with `wrap`, in a tall matrix again below each square and an empty row.

    Returns the tensor itself. Raises RuntimeError for a vector, and for more than two dimensions of different sizes.
    https://pytorch.org/docs/stable/generated/torch.Tensor.fill_diagonal_.html
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = self.shape[:2]
    step = sum(self.stride())
    self.as_strided((min(rows, columns),), (step,)).fill_(fill_value)
    if wrap and self.dim() == 2 and rows > columns + 1:
        period = columns + 1
        start = self.stride(0) * period + self.storage_offset()
        count = (self.numel() + columns) // period - columns
        self.as_strided((count,), (step,), start).fill_(fill_value)
    return self


def _map(name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]) -> Tensor:
    """Overwrites each element with what a Python function makes of it and of those beside it."""
    if any(each.requires_grad for each in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    for position, each in enumerate(others):
        if each.dtype is not self.dtype:
            label = "other" if len(others) == 1 else "xy"[position]
            raise TypeError(f"{name}: expected {self.type()} for '{label}' (got {each.type()})")
    columns = [each.expand(self.shape).reshape(-1).tolist() for each in (self, *others)]
    with no_grad():
        values = [function(*elements) for elements in zip(*columns, strict=True)]
        self._put(tensor(values, dtype=self.dtype).view(self.shape)._array)  # autograd isn't told, as in PyTorch
    return self


@composite(variants="method")
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """x ← callable(x) for each element, in Python: slow.

    Returns the tensor itself. Raises RuntimeError where it requires a gradient, TypeError where it is on a GPU.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.apply_.html
    """
    return _map("apply_", self, (), callable)


@composite(variants="method")
def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """x ← callable(x, y) for each pair of elements, in Python: slow.

    Returns the tensor itself. Raises RuntimeError where one requires a gradient, TypeError for another dtype or a GPU.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.map_.html
    """
    return _map("map_", self, (other,), callable)


@composite(variants="method")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """self ← callable(self, x, y) for each triple of elements, in Python: slow.

    Returns the tensor itself. Raises RuntimeError where one requires a gradient, TypeError for another dtype or a GPU.
    Source: https://pytorch.org/docs/stable/tensors.html
    """
    return _map("map2_", self, (x, y), callable)


@composite(variants="method")
def __reversed__(self: Tensor) -> Tensor:  # noqa: N807
    """The tensor with its first dimension reversed, so that `reversed(x)` goes through the rows backwards."""
    return self.flip(0) if self.dim() else self


@composite(variants="method")
def __rmatmul__(self: Tensor, other: Tensor) -> Tensor:  # noqa: N807
    """other @ self."""
    return other.matmul(self) if isinstance(other, Tensor) else NotImplemented


@composite(variants="function method out")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the elements that aren't zero, a row each: the first `size`, filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if input.is_meta:
        return input.new_empty((size, input.dim()), dtype=int64)
    found = input.nonzero()[:size]
    result = found.new_full((size, input.dim()), fill_value)
    result[: len(found)] = found
    return result


_filled = function_of(OPS["fill"].twin(lambda self, value: f"FillBackward{int(isinstance(value, Tensor))}"), False)


@composite(variants="function out")
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input`, of its shape and dtype, with one number everywhere."""
    return _filled(input, value)
