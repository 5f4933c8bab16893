"""What all creation functions share: the arguments dtype, size, device and out=.

A factory is a function `(xp, dtype, ...) -> array`; `factory` adds the keyword arguments that all of them share.
Source: https://pytorch.org/docs/stable/torch.html#creation-ops
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from minitorch import dtypes
from minitorch.arrays import Array, pinned
from minitorch.arrays.gpus import out_of_memory
from minitorch.arrays.quiet import NOISE, quiet, quietly
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.devices import cpu as CPU
from minitorch.devices import tensor_device
from minitorch.dispatch import layers, reference, signatures
from minitorch.dispatch.batched import drawn, levels
from minitorch.dispatch.declaration import composite
from minitorch.dtypes import FLOATING, FROM_NUMPY, SCALAR_TYPES, dtype, get_default_dtype, int64
from minitorch.layout import check_layout, strided, strides_of
from minitorch.size import checked_ints
from minitorch.tensor import Tensor, make_tensor

Number = Any
PYTHON_TYPES = {float: dtypes.float64, int: int64, bool: dtypes.bool_, complex: dtypes.complex128}


def checked_dtype(function: str, requested: Any) -> dtype | None:
    """The argument `dtype` of a factory: a dtype, a Python type or None. Raises TypeError for anything else."""
    if requested is None or isinstance(requested, dtype):
        return requested
    try:
        return PYTHON_TYPES[requested]
    except (KeyError, TypeError):
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(requested).__name__}") from None


_TOO_LARGE = 2**63 // 16
"""More elements than memory of 2⁶³ bytes can hold, whatever their type."""
_LARGE = 2**16
CANNOT_CREATE = "Trying to create tensor with negative dimension {0}: {1}"


def checked_size(
    function: str, sizes: Sequence[Any], position: int = 1, negative: str = "{2}: Dimension size must be non-negative."
) -> tuple[int, ...]:
    """A shape given as one sequence or as several ints. Raises TypeError or RuntimeError when it is none.

    `negative` is what the error says of a negative size {0} in a shape {1}; the function's name is {2}.
    """
    shape = checked_ints(function, sizes, position)
    if shape and min(shape) < 0:
        first = next(each for each in shape if each < 0)
        raise RuntimeError(negative.format(first, list(shape), function))
    if shape and max(shape) > _LARGE and math.prod(shape) > _TOO_LARGE:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return shape


def python_number(value: Any) -> Any:
    """A number, also where it is given as a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value


def finish(array: Array, where: Any, requires_grad: bool, pin_memory: bool = False) -> Tensor:
    """A new leaf on an array. Raises RuntimeError where its dtype can't have gradients."""
    if pin_memory and where.type != "meta":
        array = _pinned(array, where)
    tensor = make_tensor(array, FROM_NUMPY[array.dtype], where)
    if requires_grad:
        if tensor._dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        tensor._requires_grad = True
    return tensor


def _pinned(array: Array, where: Any) -> Array:
    """The array in page-locked memory."""
    if where.type != "cpu":
        raise RuntimeError("Only dense CPU tensors can be pinned")
    try:
        memory = pinned.allocate(where.backend.as_bytes(array).size)
    except RuntimeError:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
            "this system."
        ) from None
    copy = where.backend.strided(memory, array.dtype, 0, array.shape, strides_of(array))
    copy[...] = array
    return copy


def write_out(out: Tensor, array: Array) -> Tensor:
    """Puts a factory's array into the tensor that was given as `out=`."""
    if out._array.shape != array.shape:
        out.resize_(array.shape)  # without a word, unlike what computes
    out._put(array)
    out._bump_version()
    return out


FACTORY_KEYWORDS: dict[str, Any] = {
    "out": None,
    "layout": strided,
    "device": None,
    "requires_grad": False,
    "pin_memory": False,
}


_KEYWORDS = """

    Returns a new tensor, or `out`, which is resized to fit. `dtype`, `device`, `layout`, `requires_grad` and
    `pin_memory` are its properties. Raises TypeError for a `dtype` that is none, RuntimeError for one that isn't that
    of `out`, and for `requires_grad` of integers and bools."""


def factory(function: Callable[..., Array]) -> Any:
    """Makes `function(xp, dtype, ...)` public, with the keywords out, dtype, layout, device, requires_grad, pin_memory.

    What it gets as dtype is None when nobody asked for one.
    """
    return composite(variants="function")(tensor_of(function))


def tensor_of(function: Callable[..., Array]) -> Callable[..., Tensor]:
    """The same function of a `factory`, but not public."""
    name = function.__name__
    draws = "generator" in function.__code__.co_varnames

    def create(
        *args: Any,
        out: Tensor | None = None,
        dtype: Any = None,
        layout: Any = strided,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: Any,
    ) -> Tensor:
        # What most tensors don't need isn't called: for small ones, calls are most of the time.
        if layout is not strided:
            check_layout(name, layout)
        kind = None if dtype is None else checked_dtype(name, dtype)
        if draws and layers.count and levels():
            options = {"out": out, "dtype": dtype, "device": device, "requires_grad": requires_grad}
            return drawn(lambda: create(*args, **options, **named))
        if out is None:
            where = tensor_device(device)
            if where is CPU:  # which is always active
                try:
                    array = function(where.xp, kind, *args, **named)
                except MemoryError as error:
                    raise out_of_memory(error) from None
                except NOISE:
                    with quiet():
                        array = function(where.xp, kind, *args, **named)
            elif layers.stack.creating is not None and where.type == "meta" and not draws:
                made: Tensor = layers.stack.creating(lambda xp: function(xp, kind, *args, **named))
                return made
            else:
                with where.active():
                    array = function(where.xp, kind, *args, **named)
            if requires_grad or pin_memory:
                return finish(array, where, requires_grad, pin_memory)
            return make_tensor(array, FROM_NUMPY[array.dtype], where)
        if kind is not None and kind is not out._dtype:
            one, other = SCALAR_TYPES[kind.name], SCALAR_TYPES[out._dtype.name]
            raise RuntimeError(f"dtype {one} does not match dtype of out parameter ({other})")
        if out.requires_grad and name in ("empty", "randn"):  # which resize it in any case
            raise RuntimeError("cannot resize variables that require grad")
        if out.requires_grad and grad_mode.enabled:
            raise RuntimeError(
                f"aten::{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                "the arguments requires grad."
            )
        with out._device.active():
            write_out(out, quietly(function, out._device.xp, out._dtype, *args, **named))
        return out if requires_grad == out.requires_grad else out.requires_grad_(requires_grad)

    functools.update_wrapper(create, function)
    own, address = reference.parted(function.__doc__ or "")
    create.__doc__ = f"{own}{_KEYWORDS}\n\n    {address}"
    signatures.describe(create, function, skip=2, keywords={"dtype": None, **FACTORY_KEYWORDS})
    return create


def default(requested: dtype | None) -> Any:
    """The NumPy type of a requested dtype, or of the default one."""
    return (requested or get_default_dtype()).numpy
