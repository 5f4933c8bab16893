"""Tensors from data, from NumPy, and filled with constants or ranges."""

# 02 · Tensors and storage
from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import FROM_NUMPY as TO_DEVICE
from .dispatch import method, operation
from .settings import DTYPES, FROM_NUMPY, bool_, device, dtype, float16, float32, float64, int32, int64, settings
from .tensor import Storage, Tensor, from_array, on_host


def new(array: Any, where: str | device | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor on a device with the elements of a NumPy array, which it takes over where it can."""
    target = device(where) if where is not None else settings.default_device
    made = from_array(TO_DEVICE[target.type](array, target))
    made.requires_grad = requires_grad
    return made


def tensor(data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of the data: a number, nested lists of numbers, a NumPy array or a tensor.

    Python's floats become the default dtype, its integers int64; arrays and tensors keep their type.
    """
    array = on_host(data) if isinstance(data, Tensor) else data
    if not isinstance(array, (np.ndarray, np.generic)):
        check_lengths(data)
        array = np.asarray(array)
        if array.dtype not in FROM_NUMPY:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
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
    """A tensor that shares the memory of a NumPy array, whatever its strides.

    Its strides are the array's, in elements instead of bytes. Its storage begins at the array's first
    element and ends at the last one that the walk reaches: `flat_from(array, count)` is the flat array
    of so many neighbours. An empty array's storage holds nothing.

    Raises:
        TypeError: not an array, or of a type that tensors don't have (by `check_array(array)`).
        ValueError: strides that tensors can't have (by `check_array(array)`).
    """
    check_array(array)
    strides = tuple(step // array.itemsize for step in array.strides)
    last = sum((length - 1) * step for length, step in zip(array.shape, strides, strict=True))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), array.shape, strides)


def flat_from(array: Any, count: int) -> Any:
    """The `count` neighbours in memory that begin with an array's first element, as a flat array that shares them."""
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))


def check_array(array: Any) -> None:
    """Refuse what no tensor can share the memory of.

    Raises:
        TypeError: not an array, or of a type that tensors don't have.
        ValueError: the strides are negative, or not whole elements.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if array.dtype not in FROM_NUMPY:
        supported = ", ".join(each.name for each in reversed(DTYPES))
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. "
            f"The only supported types are: {supported}."
        )
    if any(step % array.itemsize for step in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. "
            "Copy the numpy array to reallocate the memory."
        )
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )


def as_tensor(data: Any, dtype: dtype | None = None) -> Tensor:
    """The data as a tensor, without a copy where that is possible: of a NumPy array or a tensor of the same type."""
    shared = from_numpy(data) if isinstance(data, np.ndarray) else data
    if isinstance(shared, Tensor):
        if settings.default_device.type != "cpu":
            return shared.to(settings.default_device, dtype)
        return shared if dtype is None or shared.dtype is dtype else _to_copy(shared, dtype)
    return tensor(data, dtype=dtype)


@method
def numpy(x: Tensor) -> Any:
    """The elements as a NumPy array that shares the memory.

    Raises:
        RuntimeError: autograd watches the tensor, and would not see writes to the array.
        TypeError: the tensor is not in the memory that NumPy works on.
    """
    if x.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if x.device.type != "cpu":
        raise TypeError(
            f"can't convert {x.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return x.array


Tensor.__array__ = lambda x, dtype=None, copy=None: np.array(numpy(x), dtype, copy=copy)  # for np.asarray(x)


def full(
    size: tuple[int, ...],
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given shape, with the same number everywhere."""
    type_ = dtype or tensor(fill_value, device="cpu").dtype
    return new(np.full(size, fill_value, type_.numpy), device, requires_grad)


def zeros(*size: Any, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros, of the default type: `zeros(2, 3)` or `zeros((2, 3))`."""
    return full(one_tuple(size), 0, dtype=dtype or settings.default_dtype, device=device, requires_grad=requires_grad)


def ones(*size: Any, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones, of the default type."""
    return full(one_tuple(size), 1, dtype=dtype or settings.default_dtype, device=device, requires_grad=requires_grad)


empty = zeros  # memory that nobody has written to would be as good


def one_tuple(size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape, given as several numbers or as one tuple or list."""
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def full_like(x: Tensor, fill_value: Any, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """The same number everywhere, with the shape, type and device of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=x.device, requires_grad=requires_grad)


def zeros_like(x: Tensor, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Zeros with the shape, type and device of `x`."""
    return full_like(x, 0, dtype=dtype, requires_grad=requires_grad)


def ones_like(x: Tensor, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Ones with the shape, type and device of `x`."""
    return full_like(x, 1, dtype=dtype, requires_grad=requires_grad)


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


@operation
def clone(x: Any) -> Any:
    """A copy in memory of its own, row by row."""
    return x.copy()


@operation
def _to_copy(x: Any, dtype: dtype) -> Any:
    """A copy of another type."""
    return x.astype(dtype.numpy)


def _converts_to(dtype: dtype) -> Any:
    return lambda x: x if x.dtype is dtype else _to_copy(x, dtype)


for _name, _dtype in {
    "float": float32,
    "double": float64,
    "half": float16,
    "long": int64,
    "int": int32,
    "bool": bool_,
}.items():
    setattr(Tensor, _name, _converts_to(_dtype))
Tensor.requires_grad = False
