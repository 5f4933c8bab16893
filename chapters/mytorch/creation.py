"""Tensors from data, from NumPy, and filled with constants or ranges."""

# 02 · Tensors and storage
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .arrays import TO_DEVICE
from .checks import refuse
from .settings import DTYPES, FROM_NUMPY, device, dtype, int64, settings
from .tensor import Storage, Tensor, extend, from_array, on_host


def new(array: Any, where: str | device | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor on a device with the elements of a NumPy array, which it takes over where it can."""
    target = device(where) if where is not None else settings.default_device
    made = from_array(TO_DEVICE[target.type](array, target))
    if requires_grad:
        made.requires_grad = True
    return made


def tensor(data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of numbers, an array or a tensor; Python's floats get the default type, ints int64."""
    array = on_host(data) if isinstance(data, Tensor) else data
    if not isinstance(array, (np.ndarray, np.generic)):
        check_lengths(data)
        array = np.asarray(array)
        refuse(array.dtype not in FROM_NUMPY, f"Could not infer dtype of {type(data).__name__}")
        if array.dtype == np.float64:
            dtype = dtype or settings.default_dtype
            if dtype.itemsize == 2:  # PyTorch rounds such a number twice
                array = array.astype(np.float32)
    return new(np.array(array, None if dtype is None else dtype.numpy, order="C"), device, requires_grad)


def check_lengths(data: Any, depth: int = 0) -> None:
    """Refuse nested lists whose rows differ in length, or that hold numbers beside lists."""
    if not isinstance(data, (list, tuple)):
        return
    nested = [isinstance(row, (list, tuple)) for row in data]
    if len(set(nested)) > 1:
        raise TypeError("not a sequence" if nested[0] else "'list' object cannot be interpreted as an integer")
    for row in data:
        if nested[0] and len(row) != len(data[0]):
            raise ValueError(f"expected sequence of length {len(data[0])} at dim {depth + 1} (got {len(row)})")
        check_lengths(row, depth + 1)


def from_numpy(array: Any) -> Tensor:
    """A tensor that shares the memory of a NumPy array, whatever its strides."""
    check_array(array)
    strides = tuple(step // array.itemsize for step in array.strides)
    last = sum((length - 1) * step for length, step in zip(array.shape, strides, strict=True))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), array.shape, strides)


def flat_from(array: Any, count: int) -> Any:
    """The `count` neighbours in memory that begin with an array's first element, as a flat array that shares them."""
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))


def check_array(array: Any) -> None:
    """Refuse what no tensor can share the memory of."""
    refuse(not isinstance(array, np.ndarray), f"expected np.ndarray (got {type(array).__name__})", TypeError)
    if array.dtype not in FROM_NUMPY:
        supported = f"The only supported types are: {', '.join(each.name for each in reversed(DTYPES))}."
        raise TypeError(f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. {supported}")
    if any(step % array.itemsize for step in array.strides):
        advice = "Copy the numpy array to reallocate the memory."
        raise ValueError(f"given numpy array strides not a multiple of the element byte size. {advice}")
    if any(step < 0 for step in array.strides):
        rule = "tensors with negative strides are not currently supported."
        advice = "(You can probably work around this by making a copy of your array  with array.copy().) "
        raise ValueError(f"At least one stride in the given numpy array is negative, and {rule} {advice}")


def numpy(x: Tensor) -> Any:
    """The elements as a NumPy array that shares the memory."""
    refuse(x.requires_grad, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if x.device.type != "cpu":
        advice = "Use Tensor.cpu() to copy the tensor to host memory first."
        raise TypeError(f"can't convert {x.device} device type tensor to numpy. {advice}")
    return x.array


extend(
    Tensor,
    numpy=numpy,
    __array__=lambda x, dtype=None, copy=None: np.array(numpy(x), dtype, copy=copy),  # for np.asarray(x)
    requires_grad=False,
)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the given shape, with the same number everywhere."""
    type_ = dtype or tensor(fill_value, device="cpu").dtype
    return new(np.full(size, fill_value, type_.numpy), device, requires_grad)


def zeros(*size: Any, dtype: dtype | None = None, **options: Any) -> Tensor:
    """Zeros, of the default type: `zeros(2, 3)` or `zeros((2, 3))`. The options are those of `full`."""
    return full(one_tuple(size), 0, dtype=dtype or settings.default_dtype, **options)


def ones(*size: Any, dtype: dtype | None = None, **options: Any) -> Tensor:
    """Ones, of the default type."""
    return full(one_tuple(size), 1, dtype=dtype or settings.default_dtype, **options)


empty = zeros  # memory that nobody has written to would be as good


def one_tuple(size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape, given as several numbers or as one tuple or list."""
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def full_like(x: Tensor, fill_value: Any, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The same number everywhere, with the shape, type and device of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=x.device, requires_grad=requires_grad)


zeros_like, ones_like = partial(full_like, fill_value=0), partial(full_like, fill_value=1)
empty_like = zeros_like


def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    """The numbers from `start` up to, without, `end`; from 0 if only one is given. int64 if all are integers."""
    if end is None:
        start, end = 0, start
    whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    type_ = dtype or (int64 if whole else settings.default_dtype)
    return new(np.arange(start, end, step).astype(type_.numpy), device)


def linspace(start: float, end: float, steps: int, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances."""
    return new(np.linspace(start, end, steps).astype((dtype or settings.default_dtype).numpy), device)


def eye(n: int, m: int | None = None, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    return new(np.eye(n, m, dtype=(dtype or settings.default_dtype).numpy), device)


# 02b · Types and dispatch
from .dispatch import operation
from .settings import bfloat16, bool_, float16, float32, float64, int32


@operation
def clone(x: Any) -> Any:
    """A copy in memory of its own, row by row."""
    return x.copy()


@operation
def _to_copy(x: Any, dtype: dtype) -> Any:
    """A copy of another type."""
    return x.astype(dtype.numpy)


def as_tensor(data: Any, dtype: dtype | None = None) -> Tensor:
    """The data as a tensor, without a copy where that is possible: of a NumPy array or a tensor of the same type."""
    shared = from_numpy(data) if isinstance(data, np.ndarray) else data
    if isinstance(shared, Tensor):
        if settings.default_device.type != "cpu":
            return shared.to(settings.default_device, dtype)
        return shared if dtype is None or shared.dtype is dtype else _to_copy(shared, dtype)
    return tensor(data, dtype=dtype)


def _converts_to(dtype: dtype) -> Any:
    return lambda x: x if x.dtype is dtype else _to_copy(x, dtype)


_NAMES = {"float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "long": int64, "int": int32}
_NAMES["bool"] = bool_
extend(Tensor, **{name: _converts_to(dtype) for name, dtype in _NAMES.items()})
