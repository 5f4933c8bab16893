"""Tensors of given shapes: constants, ranges, and memory without content.

A factory is a function `(xp, dtype, ...) -> array`; `factory` adds the keyword arguments that all of them share.
Source: https://pytorch.org/docs/stable/torch.html#creation-ops
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from minitorch import dtypes
from minitorch.backend import Array
from minitorch.devices import tensor_device
from minitorch.dtypes import (
    C_NAMES,
    COMPLEX,
    FLOATING,
    FROM_NUMPY,
    dtype,
    float32,
    float64,
    get_default_dtype,
    int32,
    int64,
    scalar_type,
)
from minitorch.layout import (
    check_layout,
    contiguous_format,
    empty_as,
    empty_in,
    memory_format,
    preserve_format,
    strided,
)
from minitorch.ops import signatures
from minitorch.ops.declaration import composite
from minitorch.sampling.fill import not_implemented
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


def checked_size(function: str, sizes: Sequence[Any], position: int = 1) -> tuple[int, ...]:
    """A shape given as one sequence or as several ints. Raises TypeError or RuntimeError when it is none."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    elif len(sizes) > 1 and isinstance(sizes[0], (tuple, list)):
        raise TypeError(
            f"{function}() takes {position} positional argument{'s' * (position > 1)} but {len(sizes)} were given"
        )
    try:
        shape = tuple(map(operator.index, sizes))
    except TypeError:
        wrong = next(each for each in sizes if not hasattr(each, "__index__"))
        raise TypeError(
            f"{function}(): argument 'size' (position {position}) must be tuple of ints, not {type(wrong).__name__}"
        ) from None
    if shape and min(shape) < 0:
        raise RuntimeError(f"{function}: Dimension size must be non-negative.")
    return shape


def python_number(value: Any) -> Any:
    """A number, also where it is given as a tensor of one element."""
    return value.item() if isinstance(value, Tensor) else value


def finish(array: Array, where: Any, requires_grad: bool, pin_memory: bool = False) -> Tensor:
    """A new leaf on an array. Raises RuntimeError where its dtype can't have gradients."""
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
            "this system."
        )
    tensor = make_tensor(array, FROM_NUMPY[array.dtype], where)
    if requires_grad:
        if tensor._dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        tensor._requires_grad = True
    return tensor


def write_out(out: Tensor, array: Array) -> Tensor:
    """Puts a factory's array into the tensor that was given as `out=`."""
    if out._array.shape != array.shape:
        out._resize_output(array)
    out._array[...] = array
    out._bump_version()
    return out


FACTORY_KEYWORDS: dict[str, Any] = {
    "out": None,
    "layout": strided,
    "device": None,
    "requires_grad": False,
    "pin_memory": False,
}


def factory(function: Callable[..., Array]) -> Any:
    """Makes `function(xp, dtype, ...)` public, with the keywords out, dtype, layout, device, requires_grad, pin_memory.

    What it gets as dtype is None when nobody asked for one.
    """
    name = function.__name__

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
        check_layout(name, layout)
        kind = checked_dtype(name, dtype)
        if out is None:
            where = tensor_device(device)
            return finish(function(where.xp, kind, *args, **named), where, requires_grad, pin_memory)
        if kind is not None and kind is not out._dtype:
            raise RuntimeError(f"dtype {kind} does not match dtype of out parameter ({out._dtype})")
        write_out(out, function(out._device.xp, out._dtype, *args, **named))
        return out.requires_grad_() if requires_grad else out

    functools.update_wrapper(create, function)
    signatures.describe(create, function, skip=2, keywords={"dtype": None, **FACTORY_KEYWORDS})
    return composite(variants="function")(create)


def default(requested: dtype | None) -> Any:
    """The NumPy type of a requested dtype, or of the default one."""
    return (requested or get_default_dtype()).numpy


@factory
def zeros(xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None) -> Array:
    """zeros(*size): zeros. https://pytorch.org/docs/stable/generated/torch.zeros.html"""
    return xp.zeros(_size("zeros", sizes, size), default(dtype))


@factory
def ones(xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None) -> Array:
    """ones(*size): ones. https://pytorch.org/docs/stable/generated/torch.ones.html"""
    return xp.ones(_size("ones", sizes, size), default(dtype))


@factory
def empty(
    xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None, memory_format: memory_format | None = None
) -> Array:
    """empty(*size): memory as it was found. https://pytorch.org/docs/stable/generated/torch.empty.html"""
    return empty_in(xp, _size("empty", sizes, size), default(dtype), memory_format or contiguous_format)


def _size(function: str, sizes: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    if size is not None:
        sizes = (size,)
    elif not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    return checked_size(function, sizes)


@factory
def full(xp: Any, dtype: dtype | None, size: Any, fill_value: Number) -> Array:
    """full(size, fill_value): one number everywhere; its type decides the dtype.

    https://pytorch.org/docs/stable/generated/torch.full.html
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    return filled(xp, checked_size("full", (size,)), fill_value, dtype)


def filled(xp: Any, shape: tuple[int, ...], fill_value: Number, dtype: dtype | None) -> Array:
    """An array of one number, which is cast to the dtype as PyTorch does."""
    value = python_number(fill_value)
    kind = dtype or scalar_type(value)
    result = xp.empty(shape, kind.numpy)
    value = cast_number(value, kind)
    if result.size != 1:  # PyTorch's short way for one element doesn't look
        check_range(value, result)
    result.fill(value)
    return result


def cast_number(value: Number, kind: dtype) -> Any:
    """A number as a dtype can hold it. Raises RuntimeError when it is out of range."""
    if kind.category == dtypes.BOOL:
        return bool(value)
    if kind.category == dtypes.INTEGER:
        limits = dtypes.iinfo(kind)
        value = value.real if isinstance(value, complex) and not value.imag else value
        lowest = -limits.max if isinstance(value, int) and not kind.is_signed else limits.min
        if isinstance(value, complex) or value != value or not lowest <= value < limits.max + 1:
            raise overflow(kind)
        return int(value) % (limits.max + 1) if int(value) < limits.min else int(value)
    if isinstance(value, complex) and kind.category < COMPLEX:
        if value.imag:
            raise overflow(kind)
        return value.real
    return value


def check_range(value: Any, target: Array) -> None:
    """Raises RuntimeError for a number too large for the target's floats."""
    kind = FROM_NUMPY[target.dtype]
    if kind.category == FLOATING and dtypes.finfo(kind).max < abs(value) < math.inf:
        raise overflow(kind)


def overflow(kind: dtype) -> Exception:
    """The error for a number that a dtype can't hold."""
    name = "int" if kind is int32 else f"{kind.name}_t" if kind.category == dtypes.INTEGER else C_NAMES[kind.name]
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


@factory
def scalar_tensor(xp: Any, dtype: dtype | None, s: Number) -> Array:
    """scalar_tensor(s): a 0-dim tensor, by default of the default dtype."""
    return filled(xp, (), s, dtype or get_default_dtype())


@factory
def eye(xp: Any, dtype: dtype | None, n: int, m: int | None = None) -> Array:
    """eye(n, m=n): ones on the diagonal. https://pytorch.org/docs/stable/generated/torch.eye.html"""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return xp.eye(n, m, dtype=default(dtype))


def _inferred(numbers: Sequence[Number]) -> dtype:
    return int64 if all(isinstance(each, int) for each in numbers) else get_default_dtype()


@factory
def arange(
    xp: Any,
    dtype: dtype | None,
    *args: Number,
    start: Number | None = None,
    end: Number | None = None,
    step: Number | None = None,
) -> Array:
    """arange(start=0, end, step=1): start + i·step for i < ⌈(end − start)/step⌉; int64 when all three are ints.

    https://pytorch.org/docs/stable/generated/torch.arange.html
    """
    named = {name: each for name, each in (("start", start), ("end", end), ("step", step)) if each is not None}
    start, end, step = (_real("arange", name, value) for name, value in _range_arguments(args, named).items())
    _check_range(start, end, step)
    kind = dtype or _inferred((start, end, step))
    if kind is dtypes.bool_ or kind.is_complex:
        raise not_implemented(kind.numpy, "arange_cpu")
    if kind is int64:
        start, end, step = int(start), int(end), int(step)
    return _stepped(xp, start, step, math.ceil((end - start) / step), kind)


@factory
def range(xp: Any, dtype: dtype | None, start: Number = 0, end: Number = None, step: Number = 1) -> Array:
    """range(start=0, end, step=1): arange that includes `end`; never of integers unless asked. Deprecated.

    https://pytorch.org/docs/stable/generated/torch.range.html
    """
    _check_range(start, end, step)
    kind = dtype or get_default_dtype()
    if kind.category < FLOATING:
        start, end, step = int(start), int(end), int(step)
    return _stepped(xp, start, step, math.floor((end - start) / step) + 1, kind)


def _range_arguments(args: tuple[Number, ...], named: dict[str, Number]) -> dict[str, Number]:
    names = ("end",) if len(args) == 1 and "end" not in named else ("start", "end", "step")
    if len(args) > 3 or (not args and "end" not in named):
        raise TypeError(f"arange() received an invalid combination of arguments - got ({len(args)} numbers)")
    given = dict(zip(names, args, strict=False)) | named
    return {"start": given.get("start", 0), "end": given["end"], "step": given.get("step", 1)}


def _real(function: str, name: str, value: Any) -> Any:
    number = python_number(value)
    if hasattr(number, "dtype"):
        number = number.item()
    if not isinstance(number, (int, float)):
        raise TypeError(f"{function}(): argument '{name}' (position 1) must be Number, not {type(value).__name__}")
    return number


def _check_range(start: float, end: float, step: float) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _stepped(xp: Any, start: Number, step: Number, count: int, kind: dtype) -> Array:
    if kind.category < FLOATING:
        start, step = int(start), int(step)
        return xp.arange(start, start + step * count, step, dtype=kind.numpy)
    return (start + step * xp.arange(count, dtype="float64")).astype(kind.numpy)


@factory
def linspace(xp: Any, dtype: dtype | None, start: Number, end: Number, steps: int) -> Array:
    """linspace(start, end, steps): start + i·(end − start)/(steps − 1), the second half counted from `end`.

    https://pytorch.org/docs/stable/generated/torch.linspace.html
    """
    start, end = python_number(start), python_number(end)
    kind = _linspace_type("linspace", dtype, start, end)
    return _spaced(xp, start, end, steps, kind).astype(kind.numpy)


@factory
def logspace(xp: Any, dtype: dtype | None, start: Number, end: Number, steps: int, base: float = 10.0) -> Array:
    """logspace(start, end, steps, base=10): base to the power of linspace.

    https://pytorch.org/docs/stable/generated/torch.logspace.html
    """
    start, end = python_number(start), python_number(end)
    kind = _linspace_type("logspace", dtype, start, end)
    return xp.power(
        base, _spaced(xp, start, end, steps, kind).astype("complex128" if kind.is_complex else "float64")
    ).astype(kind.numpy)


def _linspace_type(name: str, requested: dtype | None, start: Number, end: Number) -> dtype:
    if requested is dtypes.bool_:
        raise not_implemented(requested.numpy, f"{name}_cpu")
    if requested is not None:
        return requested
    default = get_default_dtype()
    return default.to_complex() if isinstance(start, complex) or isinstance(end, complex) else default


def _spaced(xp: Any, start: Number, end: Number, steps: int, kind: dtype) -> Array:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.category < COMPLEX:
        start, end = cast_number(start, float64), cast_number(end, float64)
    number = {"float32": xp.float32, "complex64": xp.complex64, "complex128": xp.complex128}.get(
        (float32 if kind.is_low_precision else kind).name, xp.float64
    )
    if kind.category < FLOATING:
        start, end = int(start), int(end)
    start, end = number(start), number(end)
    step = (end - start) / number(max(steps - 1, 1))
    index = xp.arange(steps).astype(number)
    half = steps // 2
    return (
        xp.concatenate([start + step * index[:half], end - step * index[: steps - half][::-1]])
        if steps > 1
        else start + index
    )


@factory
def empty_strided(xp: Any, dtype: dtype | None, size: Sequence[int], stride: Sequence[int]) -> Array:
    """empty_strided(size, stride): memory as it was found, seen through the given strides.

    https://pytorch.org/docs/stable/generated/torch.empty_strided.html
    """
    shape = checked_size("empty_strided", (size,))
    if len(shape) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    kind = xp.dtype(default(dtype))
    span = sum((n - 1) * step for n, step in zip(shape, stride, strict=True)) + 1 if 0 not in shape else 0
    memory = xp.empty(span, kind)
    return xp.lib.stride_tricks.as_strided(memory, shape, [step * kind.itemsize for step in stride])


def like(
    input: Tensor,
    fill: Callable[[Any, Array], Any],
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
    pin_memory: bool,
    format: memory_format | None,
) -> Tensor:
    """A tensor of the shape of `input`, and of its dtype, device and strides where no others are given."""
    if not isinstance(input, Tensor):
        raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    check_layout("like", layout)
    format = format or preserve_format
    kind = checked_dtype("like", dtype) or input._dtype
    where = input._device if device is None else tensor_device(device)
    if format is preserve_format and where is input._device:
        array = empty_as(where.xp, input._array, kind.numpy)
    else:
        array = empty_in(where.xp, input._array.shape, kind.numpy, format)
    fill(kind, array)
    return finish(array, where, requires_grad, pin_memory)


@composite(variants="function")
def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """Memory as it was found. https://pytorch.org/docs/stable/generated/torch.empty_like.html"""
    return like(input, lambda kind, array: None, dtype, layout, device, requires_grad, pin_memory, memory_format)


def _full_like(name: str, value: Number) -> Any:
    def create(
        input: Tensor,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        return like(
            input,
            lambda kind, array: array.fill(value),
            dtype,
            layout,
            device,
            requires_grad,
            pin_memory,
            memory_format,
        )

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"{name[:-5].capitalize()}. https://pytorch.org/docs/stable/generated/torch.{name}.html"
    return composite(variants="function")(create)


zeros_like = _full_like("zeros_like", 0)
ones_like = _full_like("ones_like", 1)


@composite(variants="function")
def full_like(
    input: Tensor,
    fill_value: Number,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """One number everywhere. https://pytorch.org/docs/stable/generated/torch.full_like.html"""

    def fill(kind: dtype, array: Array) -> None:
        value = cast_number(python_number(fill_value), kind)
        if array.size != 1:
            check_range(value, array)
        array.fill(value)

    return like(input, fill, dtype, layout, device, requires_grad, pin_memory, memory_format)


def _new(name: str, create: Any) -> None:
    """The method `new_zeros` and its like: a factory whose defaults for dtype and device are the tensor's."""

    def new(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        return create(
            *args,
            dtype=input._dtype if dtype is None else dtype,
            device=input._device if device is None else device,
            **options,
        )

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"{create.__name__} of this tensor's dtype, on its device, unless others are given."
    signatures.describe(new, create, first="self")
    composite(variants="method")(new)


for _name, _create in (
    ("new_zeros", zeros),
    ("new_ones", ones),
    ("new_empty", empty),
    ("new_full", full),
    ("new_empty_strided", empty_strided),
):
    _new(_name, _create)


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
    return memory.transpose([list(physical_layout).index(dim) for dim, _ in enumerate(shape)])
