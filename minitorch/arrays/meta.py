"""The meta device: arrays with a shape, a type and strides, but no elements and no memory.

`meta_array` and `meta_rules` say how. Here is its array module: NumPy's functions, which turn to these arrays by
themselves, and those that make arrays.
Source: https://pytorch.org/docs/stable/meta.html
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitorch.arrays import meta_rules  # noqa: F401 - what NumPy's functions do with these arrays
from minitorch.arrays.errors import NoDataError
from minitorch.arrays.meta_array import Selected, ndarray, pointer
from minitorch.arrays.meta_places import like, place, shape_of


def empty(shape: Any, *rest: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """Memory of a shape."""
    return ndarray(place(shape, (rest[0] if rest else dtype) or float))


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """A number everywhere."""
    return ndarray(place(shape, dtype or asarray(fill_value).dtype))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> ndarray:
    """An array: itself if it is one. Of other data only shape and type remain."""
    if isinstance(a, Selected):
        raise NoDataError
    if isinstance(a, ndarray):
        return a.astype(dtype or a.dtype, order or "K", copy=bool(copy))
    if isinstance(a, (list, tuple)) and any(isinstance(each, ndarray) for each in a):
        stacked: Any = np.stack([asarray(each) for each in a])
        return stacked if dtype is None else stacked.astype(dtype)
    found = np.asarray(a, dtype)
    return ndarray(like(found, found.dtype, order))


def array(a: Any, dtype: Any = None, copy: bool = True, order: str = "K") -> ndarray:
    """A new array."""
    return asarray(a, dtype, order, copy=True)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """An array whose elements lie row by row: itself if it is one."""
    found = asarray(a, dtype)
    return found if found.flags.c_contiguous else found.copy()


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> ndarray:
    """Numbers at equal distances."""
    start, stop = (0, start) if stop is None else (start, stop)
    kind = dtype or np.result_type(*(np.asarray(each) for each in (start, stop, step)))
    return ndarray(place((max(0, math.ceil((stop - start) / step)),), kind))


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = float) -> ndarray:
    """Ones on a diagonal."""
    return ndarray(place((n, n if m is None else m), dtype))


def linspace(start: Any, stop: Any, num: int = 50, dtype: Any = None) -> ndarray:
    """Numbers at equal distances."""
    return ndarray(place((num,), dtype or float))


def broadcast(*arrays: Any) -> Any:
    """The shape that arrays are broadcast to."""
    shape = np.broadcast_shapes(*map(shape_of, arrays))
    return SimpleNamespace(shape=shape, nd=len(shape))


def as_strided(x: ndarray, shape: Any = None, strides: Any = None) -> ndarray:
    """A view of another shape and other strides."""
    strides = x.strides if strides is None else tuple(strides)
    return ndarray(place(x.shape if shape is None else shape, x.dtype, strides, pointer(x)))


_OWN: dict[str, Any] = {
    "arange": arange,
    "array": array,
    "asarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "broadcast": broadcast,
    "empty": empty,
    "eye": eye,
    "full": full,
    "lib": SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=as_strided)),
    "linspace": linspace,
    "ndarray": ndarray,
    "ones": empty,
    "zeros": empty,
}


class MetaNumpy:
    """The names of NumPy, whose functions turn to the arrays. Those that make arrays are this file's."""

    __name__ = "meta"
    is_host = False

    def __getattr__(self, name: str) -> Any:
        found = _OWN[name] if name in _OWN else getattr(np, name)
        setattr(self, name, found)
        return found


class MetaBackend:
    """The backend of `device("meta")`."""

    xp: Any = MetaNumpy()

    def strided(
        self, buffer: ndarray, dtype: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> ndarray:
        return ndarray(place(shape, dtype, strides, pointer(buffer) + offset))

    def as_bytes(self, array: ndarray) -> ndarray:
        last = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
        return ndarray(place((last + array.itemsize if array.size else 0,), np.uint8, None, pointer(array)))

    def pointer(self, array: ndarray) -> int:
        return pointer(array)

    def to_host(self, array: ndarray) -> Any:
        raise NotImplementedError(str(NoDataError()))

    def from_host(self, array: Any) -> ndarray:
        return asarray(array)
