"""Tensors of Python data and of NumPy arrays: nested sequences of numbers, and what else holds numbers.

Source: https://pytorch.org/docs/stable/generated/torch.tensor.html
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from minitorch import dtypes
from minitorch.arrays import Array
from minitorch.arrays.quiet import quietly
from minitorch.devices import device_for, tensor_device
from minitorch.dispatch.declaration import composite
from minitorch.dtypes import (
    COMPLEX,
    FLOATING,
    SCALAR_TYPES,
    dtype,
    from_numpy_dtype,
    get_default_dtype,
    int64,
    promote_types,
)
from minitorch.interop import from_numpy
from minitorch.ops.creation.factory import checked_dtype, finish
from minitorch.storage import UntypedStorage
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once


def leaves(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of a nested sequence, and its elements in row-major order.

    Raises ValueError for rows of different lengths, TypeError for numbers beside rows.
    """
    shape = []
    first = data
    while _is_sequence(first):
        shape.append(len(first))
        if not len(first):
            break
        first = first[0]
    level = [data]
    for dim, length in enumerate(shape):
        for row in level:
            if not _is_sequence(row):
                raise TypeError("not a sequence")
            if len(row) != length:
                raise ValueError(f"expected sequence of length {length} at dim {dim} (got {len(row)})")
        level = list(chain.from_iterable(level))
    return tuple(shape), level


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (
        not isinstance(value, (str, bytes, Tensor, np.generic))
        and hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not hasattr(value, "keys")
        and getattr(value, "ndim", 1) > 0
    )


def inferred_type(elements: Iterable[Any]) -> dtype:
    """The dtype that holds all elements: Python's are int64, bool, or of the default dtype, others know theirs."""
    result: dtype | None = None
    by_class = {each.__class__: each for each in elements if not isinstance(each, Tensor)}
    for each in chain(by_class.values(), (each for each in elements if isinstance(each, Tensor))):
        kind = _element_type(each)
        result = kind if result is None else promote_types(result, kind)
    return result or get_default_dtype()


def _element_type(value: Any) -> dtype:
    if isinstance(value, Tensor):
        return value._dtype
    if isinstance(value, (np.generic, np.ndarray)):
        return from_numpy_dtype(value.dtype)
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return get_default_dtype()
    if isinstance(value, complex):
        return get_default_dtype().to_complex()
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if isinstance(value, (list, tuple)):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def array_of(data: Any, requested: dtype | None) -> Array:
    """Data as a new NumPy array of the requested dtype, or else of the one that it suggests."""
    if isinstance(data, (np.ndarray, np.generic)):
        kind = from_numpy_dtype(data.dtype)
        if isinstance(data, np.ndarray):
            from_numpy(data)  # refuses negative strides
        return _cast(np.array(data), requested or kind)
    if hasattr(data, "__array_interface__") or (hasattr(data, "__array__") and not _is_sequence(data)):
        return array_of(np.asarray(data), requested)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray):
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to "
            "a single numpy.ndarray with numpy.array() before converting to a tensor.",
            stacklevel=4,
        )
    shape, elements = leaves(data)
    if elements and isinstance(elements[0], (str, bytes)) and shape:
        raise ValueError(f"too many dimensions '{type(elements[0]).__name__}'")
    kind = inferred_type(elements)
    target = requested or kind
    elements = [_one_number(each, target) if isinstance(each, Tensor) else each for each in elements]
    return _converted(elements, kind, target).reshape(shape)


def _cast(array: Array, kind: dtype) -> Array:
    return quietly(dtypes.within_range(np, array, kind.numpy).astype, kind.numpy, order="C")


def _one_number(tensor: Tensor, target: dtype) -> Any:
    if tensor.numel() != 1:
        if target.category < FLOATING:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise ValueError("only one element tensors can be converted to Python scalars")
    return tensor.item()


def _converted(elements: Sequence[Any], kind: dtype, target: dtype) -> Array:
    exact = {dtypes.BOOL: np.bool_, dtypes.INTEGER: np.int64, FLOATING: np.float64, COMPLEX: np.complex128}[
        kind.category
    ]
    try:
        array: Array = np.array(elements, exact)
    except OverflowError:
        if target.category == dtypes.INTEGER:
            raise ValueError("Overflow when unpacking long long") from None
        array = np.array([bool(each) if target.category == dtypes.BOOL else float(each) for each in elements])
    except (TypeError, ValueError):
        wrong = next(each for each in elements if not isinstance(each, (int, float, complex, np.generic)))
        raise TypeError(f"'{type(wrong).__name__}' object cannot be interpreted as an integer") from None
    if kind.category == COMPLEX and dtypes.BOOL < target.category < COMPLEX:
        real = target.category == FLOATING
        raise TypeError(
            "must be real number, not complex" if real else "'complex' object cannot be interpreted as an integer"
        )
    if target.category == dtypes.INTEGER and array.size and array.dtype != np.bool_:
        limits = dtypes.iinfo(target)
        lowest = limits.min if target.is_signed or array.dtype.kind == "f" else -limits.max
        if not (lowest <= array.min() and array.max() <= limits.max):
            raise RuntimeError(f"value cannot be converted to type {target.name} without overflow")
    return _cast(array, target)


@composite(variants="function")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new leaf that holds a copy of `data`: a number (0-d), a nested sequence of numbers, or an array.

    Returns a tensor of its shape; ints are int64, floats of the default dtype, unless `dtype` says otherwise.
    Raises ValueError for ragged rows, TypeError or RuntimeError for what are no numbers.
    """
    kind = checked_dtype("tensor", dtype)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=3,
        )
        copy = data.detach().to(device=device_for(data, device), dtype=kind or data._dtype, copy=True)
        return finish(copy._array, copy._device, requires_grad, pin_memory)
    where = tensor_device(device)
    array = array_of(data, kind)
    return finish(array if where.type == "cpu" else where.backend.from_host(array), where, requires_grad, pin_memory)


@composite(variants="function")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, on the same memory and with the same history where its dtype and device fit, else a copy."""
    kind = checked_dtype("as_tensor", dtype)
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
        device = tensor_device(device)
    if isinstance(data, Tensor):
        return data.to(device=device_for(data, device), dtype=kind or data._dtype)
    return tensor(data, dtype=kind, device=device)


@composite(variants="function", aliases="asanyarray")
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """`obj` as a tensor; with `copy=True` always a new one, with `copy=False` never.

    A list becomes a tensor of its shape; of a NumPy array or a tensor it has shape and dtype, and the memory.
    A tensor's history is kept, with a warning, unless `requires_grad` says what is wanted.
    Raises ValueError when it can't be had without a copy that was forbidden.
    """
    if isinstance(obj, UntypedStorage):
        obj = from_numpy(obj._bytes.view((dtype or int64).numpy))
    shares = isinstance(obj, (Tensor, np.ndarray))
    result = as_tensor(obj, dtype=dtype, device=device)
    if copy is False:
        if not shares:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        source = from_numpy(obj) if isinstance(obj, np.ndarray) else obj
        if result._device is not source._device:
            raise ValueError(f"can't alias tensor from device '{source._device}' to '{result._device}'.")
        if result._dtype is not source._dtype:
            kinds = (SCALAR_TYPES[each._dtype.name] for each in (source, result))
            raise ValueError("can't alias tensor with dtype '{}' into dtype '{}'.".format(*kinds))
    if copy and shares:
        result = result.clone()
    if requires_grad is None and result.requires_grad:
        warnings.warn(
            "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
            "requires_grad=False explicitly to get the old behavior and silence this warning.",
            UserWarning,
            stacklevel=3,
        )
    if requires_grad is False and result.requires_grad:
        return result.detach()
    return result.requires_grad_() if requires_grad else result


@composite(variants="method")
def new_tensor(
    input: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Returns a new leaf with a copy of `data`, of this tensor's dtype and on its device unless others are given."""
    return tensor(data, dtype=dtype or input._dtype, device=device or input._device, requires_grad=requires_grad)


@composite(variants="method")
def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:  # noqa: N807
    """What NumPy's functions return for a tensor: a tensor on the memory of their result."""
    return from_numpy(np.asarray(array))
