"""Tensors of given shapes: constants, and memory without content.

Source: https://pytorch.org/docs/stable/torch.html#creation-ops
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minitorch import settings
from minitorch.arrays import Array
from minitorch.devices import tensor_device
from minitorch.dispatch import layers, overriding, signatures
from minitorch.dispatch.batched import Batched, drawn, levels, spread
from minitorch.dispatch.declaration import METHODS, NAMESPACES, composite
from minitorch.dtypes import FROM_NUMPY, bool_, dtype, float64, get_default_dtype, iinfo, scalar_type
from minitorch.layout import (
    check_layout,
    contiguous_format,
    empty_as,
    empty_in,
    kept_strides,
    memory_format,
    preserve_format,
)
from minitorch.ops.creation.factory import (
    CANNOT_CREATE,
    Number,
    checked_dtype,
    checked_size,
    default,
    factory,
    finish,
    python_number,
)
from minitorch.ops.naming import called
from minitorch.scalars import to_scalar
from minitorch.size import checked_ints
from minitorch.tensor import Tensor


@factory
def zeros(xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None) -> Array:
    """zeros(*size): zeros. https://pytorch.org/docs/stable/generated/torch.zeros.html"""
    return xp.zeros(_size("zeros", sizes, size), default(dtype))


@factory
def ones(xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None) -> Array:
    """ones(*size): ones. https://pytorch.org/docs/stable/generated/torch.ones.html"""
    return xp.ones(_size("ones", sizes, size, CANNOT_CREATE), default(dtype))


@factory
def empty(
    xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None, memory_format: memory_format | None = None
) -> Array:
    """empty(*size): memory as it was found. https://pytorch.org/docs/stable/generated/torch.empty.html"""
    shape = _size("empty", sizes, size, CANNOT_CREATE)
    return as_found(empty_in(xp, shape, default(dtype), memory_format or contiguous_format))


def as_found(array: Array) -> Array:
    """New memory: filled with NaN, True or the largest integer where deterministic algorithms are asked for."""
    if settings.fills_uninitialized_memory():
        kind = FROM_NUMPY[array.dtype]
        if kind.is_floating_point or kind.is_complex:
            array.fill(float("nan"))
        else:
            array.fill(True if kind is bool_ else iinfo(kind).max)
    return array


def _size(function: str, sizes: tuple[Any, ...], size: Any, *negative: str) -> tuple[int, ...]:
    if size is not None:
        sizes = (size,)
    elif not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    return checked_size(function, sizes, 1, *negative)


@factory
def full(xp: Any, dtype: dtype | None, size: Any, fill_value: Number) -> Array:
    """full(size, fill_value): one number everywhere; its type decides the dtype.

    https://pytorch.org/docs/stable/generated/torch.full.html
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    return filled(xp, checked_size("full", (size,), negative=CANNOT_CREATE), fill_value, dtype)


def filled(xp: Any, shape: tuple[int, ...], fill_value: Number, dtype: dtype | None) -> Array:
    """An array of one number, which is cast to the dtype as PyTorch does."""
    value = python_number(fill_value)
    kind = dtype or scalar_type(value)
    result = xp.empty(shape, kind.numpy)
    result.fill(filling(value, result))
    return result


def filling(number: Number, array: Array) -> Any:
    """What the elements become where an array is filled with a number. Raises RuntimeError if that is out of range."""
    kind = FROM_NUMPY[array.dtype]
    if array.size == 1 and kind.is_low_precision:  # PyTorch's short way for one element doesn't look
        return kind.numpy.type(float(to_scalar(number, float64)))
    return to_scalar(number, kind)


@factory
def scalar_tensor(xp: Any, dtype: dtype | None, s: Number) -> Array:
    """scalar_tensor(s): a 0-dim tensor, by default of the default dtype. PyTorch has no page about it."""
    return filled(xp, (), s, dtype or get_default_dtype())


@factory
def eye(xp: Any, dtype: dtype | None, n: int, m: int | None = None) -> Array:
    """eye(n, m=n): ones on the diagonal. https://pytorch.org/docs/stable/generated/torch.eye.html"""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return xp.eye(n, m, dtype=default(dtype))


@factory
def empty_strided(xp: Any, dtype: dtype | None, size: Sequence[int], stride: Sequence[int]) -> Array:
    """empty_strided(size, stride): memory as it was found, seen through the given strides.

    https://pytorch.org/docs/stable/generated/torch.empty_strided.html
    """
    shape = checked_size("empty_strided", (size,))
    stride = checked_ints("empty_strided", (stride,), 2, "stride")
    if len(shape) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    kind = xp.dtype(default(dtype))
    span = sum((n - 1) * step for n, step in zip(shape, stride, strict=True)) + 1 if 0 not in shape else 0
    memory = xp.empty(span, kind)
    return as_found(xp.lib.stride_tricks.as_strided(memory, shape, [step * kind.itemsize for step in stride]))


@factory
def empty_permuted(xp: Any, dtype: dtype | None, size: Sequence[int], physical_layout: Sequence[int]) -> Array:
    """empty_permuted(size, physical_layout): memory as it was found, whose dimensions lie in it in the given order.

    https://pytorch.org/docs/stable/generated/torch.empty_permuted.html
    """
    shape = checked_size("empty_permuted", (size,))
    if len(physical_layout) != len(shape):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for place, dim in enumerate(physical_layout):
        if not 0 <= dim < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {dim} at index "
                f"{place}).  NB: negative dims not currently supported; file an issue if you want it."
            )
        if dim in physical_layout[:place]:
            raise RuntimeError("Duplicate dim not allowed")
    memory = xp.empty([shape[dim] for dim in physical_layout], default(dtype))
    return as_found(memory.transpose([list(physical_layout).index(dim) for dim, _ in enumerate(shape)]))


LIKE_KEYWORDS: dict[str, Any] = {
    "dtype": None,
    "layout": None,
    "device": None,
    "requires_grad": False,
    "pin_memory": False,
    "memory_format": None,
}


def like(fill: Callable[..., Any]) -> Any:
    """Makes `fill(xp, array, ...)` public: a new tensor of the shape of another, and of its dtype, device and strides
    where the keywords give no others.
    """
    name = fill.__name__
    draws = "generator" in fill.__code__.co_varnames

    def create(
        input: Tensor,
        *args: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: memory_format | None = None,
        **named: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if overriding.asked(input):
            options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "memory_format": memory_format}
            given = {key: value for key, value in options.items() if value not in (None, False)}
            return overriding.handled(NAMESPACES["torch"][name], [input], (input, *args), {**given, **named})
        check_layout(name, layout)
        if draws and layers.count and levels():
            options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
            return drawn(lambda: create(input, *args, **options, memory_format=memory_format, **named))
        kind = checked_dtype(name, dtype) or input._dtype
        where = input._device if device is None else tensor_device(device)
        if memory_format is None:
            memory_format = preserve_format
        if isinstance(input, Batched):
            array = where.xp.empty(input._array.shape, kind.numpy)
        elif memory_format is not preserve_format:
            array = empty_in(where.xp, input._array.shape, kind.numpy, memory_format)
        elif where is input._device:
            array = empty_as(where.xp, input._array, kind.numpy)
        else:
            strides = kept_strides(input._array, kind.itemsize)
            memory = where.xp.empty(input._array.size, kind.numpy)
            array = where.xp.lib.stride_tricks.as_strided(memory, input._array.shape, strides)
        if layers.stack.creating is not None and where.type == "meta" and not draws and array.flags.c_contiguous:

            def make(xp: Any) -> Array:
                fill(xp, memory := xp.empty(array.shape, array.dtype), *args, **named)
                return memory

            made: Tensor = layers.stack.creating(make)
            return made
        with where.active():
            fill(where.xp, array, *args, **named)
        created = finish(array, where, requires_grad, pin_memory)
        return created if draws or not isinstance(input, Batched) else spread(created, input)

    functools.update_wrapper(create, fill)
    signatures.describe(create, fill, skip=2, first="input", keywords=LIKE_KEYWORDS)
    return composite(variants="function")(create)


@like
def empty_like(xp: Any, array: Array) -> None:
    """empty_like(input): memory as it was found.

    Returns a tensor of the shape, and by default dtype and device, of `input`.
    """
    as_found(array)


@like
def zeros_like(xp: Any, array: Array) -> None:
    """zeros_like(input): zeros. Returns a tensor of the shape, and by default the dtype and device, of `input`."""
    array.fill(0)


@like
def ones_like(xp: Any, array: Array) -> None:
    """ones_like(input): ones. Returns a tensor of the shape, and by default the dtype and device, of `input`."""
    array.fill(1)


@like
def full_like(xp: Any, array: Array, fill_value: Number) -> None:
    """full_like(input, fill_value): one number everywhere.

    Returns a tensor of the shape, and by default dtype, of `input`.
    """
    array.fill(filling(python_number(fill_value), array))


def _new(name: str, create: Any) -> None:
    """The method new_zeros, new_ones, new_empty, new_full or new_empty_strided: a factory whose defaults for dtype and
    device are the tensor's."""

    @called(name, f"Returns `{create.__name__}` of this tensor's dtype, on its device, unless others are given.")
    def new(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        if overriding.asked(input):
            given = {key: each for key, each in {"dtype": dtype, "device": device}.items() if each is not None}
            return overriding.handled(METHODS[name], [input], (input, *args), {**given, **options})
        created = create(
            *args,
            dtype=input._dtype if dtype is None else dtype,
            device=input._device if device is None else device,
            **options,
        )
        return spread(created, input) if isinstance(input, Batched) else created

    signatures.describe(new, create, first="self", shown=new)
    composite(variants="method")(new)


for _name, _create in (
    ("new_zeros", zeros),
    ("new_ones", ones),
    ("new_empty", empty),
    ("new_full", full),
    ("new_empty_strided", empty_strided),
):
    _new(_name, _create)
