"""Arrays in the memory of simulated GPUs: NumPy's, which belong to one device and mix with nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from minitorch.arrays.simulated_memory import MEMORIES, Device, current

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_TYPES = "?bhilqBHILQefdFD" + BFLOAT16.char


class ndarray(NDArrayOperatorsMixin):
    """An array in the memory of a simulated GPU."""

    __slots__ = ("__weakref__", "_numbers", "_where")

    __array_ufunc__: Any
    __array_function__: Any
    """By which operators and NumPy's functions find CuPy's. They are in `simulated`, as most methods."""

    def __init__(self, numbers: Any, where: int) -> None:
        self._numbers = np.asarray(numbers)
        self._where = where
        if self._numbers.dtype.char not in _TYPES:
            raise ValueError(f"Unsupported dtype {self._numbers.dtype}")
        MEMORIES[where].count(self._numbers)

    @property
    def device(self) -> Device:
        """Where it is."""
        return Device(self._where)

    dtype = property(lambda self: self._numbers.dtype)
    shape = property(lambda self: self._numbers.shape)
    strides = property(lambda self: self._numbers.strides)
    ndim = property(lambda self: self._numbers.ndim)
    size = property(lambda self: self._numbers.size)
    nbytes = property(lambda self: self._numbers.nbytes)
    itemsize = property(lambda self: self._numbers.itemsize)
    T = property(lambda self: ndarray(self._numbers.T, self._where))
    mT = property(lambda self: ndarray(self._numbers.mT, self._where))  # noqa: N815

    @property
    def base(self) -> ndarray | None:
        """The array whose memory it shares, None if the memory is its own."""
        base = self._numbers.base
        return ndarray(base, self._where) if isinstance(base, np.ndarray) else None

    @property
    def flags(self) -> Flags:
        """Whether the elements lie row by row, or column by column, without gaps."""
        return Flags(self._numbers)

    @property
    def data(self) -> Pointer:
        """Where the first element lies."""
        return Pointer(int(self._numbers.__array_interface__["data"][0]))

    @property
    def real(self) -> ndarray:
        """The real parts, as a view."""
        return ndarray(self._numbers.real, self._where)

    @real.setter
    def real(self, value: Any) -> None:
        self._numbers.real = numbers_of(value)

    @property
    def imag(self) -> ndarray:
        """The imaginary parts, as a view."""
        return ndarray(self._numbers.imag, self._where)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._numbers.imag = numbers_of(value)

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """A copy as an array of NumPy, or `out`, which it is written into."""
        if out is None:
            return np.array(self._numbers, order="C" if order == "A" else order)  # type: ignore[call-overload]
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained from cupy.ndarray")
        if out.dtype != self.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}")
        if not (out.flags.c_contiguous or out.flags.f_contiguous):
            raise RuntimeError("`out` cannot be specified when copying to non-contiguous ndarray")
        out[...] = self._numbers
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        """Copy an array of NumPy into this one."""
        self._numbers[...] = arr

    def item(self) -> Any:
        """The one element as a number of Python."""
        return self._numbers.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._numbers.tolist()

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        """The elements in another type. A float outside an integer's range becomes its end, and NaN 0, as in CUDA."""
        kind, numbers = np.dtype(dtype), self._numbers
        if kind.kind in "iu" and numbers.dtype.kind == "f" and numbers.dtype != kind:
            limits = np.iinfo(kind)
            inside = np.clip(np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf), limits.min, limits.max)
            whole = np.where(inside >= float(limits.max), limits.max, 0).astype(kind)
            return ndarray(np.where(inside >= float(limits.max), whole, inside.astype(kind)), self._where)
        return ndarray(numbers.astype(kind, order=order, copy=copy), self._where)

    def __getitem__(self, index: Any) -> ndarray:
        result = self._numbers[self._index(index)]
        if isinstance(result, np.generic) or not np.may_share_memory(result, self._numbers):
            numbers_of(self)  # a copy is made on the current device; a view needs none
            if isinstance(result, np.generic):
                result = self._numbers[(*index, ...)] if isinstance(index, tuple) else self._numbers[index, ...]
        return ndarray(result, self._where)

    def __setitem__(self, index: Any, value: Any) -> None:
        numbers_of(self)
        self._numbers[self._index(index)] = numbers_of(value)

    def _index(self, index: Any) -> Any:
        """The index as NumPy wants it. Indices that are out of range wrap around."""
        items = index if isinstance(index, tuple) else (index,)
        arrays = [each for each in items if isinstance(each, (ndarray, list))]
        if sum(np.asarray(numbers_of(each)).dtype == bool for each in arrays) > 1:
            raise IndexError("CuPy takes no more than one array of booleans in an index")
        plain: list[Any] = []
        given = sum(_dims(each) for each in items)
        axis = 0
        for each in items:
            if each is Ellipsis:
                plain.append(each)
                axis += self.ndim - given
                continue
            if isinstance(each, np.ndarray):
                raise TypeError(f"Unsupported type {type(each)}")
            numbers = numbers_of(each) if isinstance(each, ndarray) else each
            if (
                isinstance(each, (ndarray, list))
                and (numbers := np.asarray(numbers)).dtype.kind in "iu"
                and numbers.size
            ):
                numbers = (
                    np.mod(numbers, max(1, self.shape[axis])) if numbers.ndim or isinstance(each, list) else numbers
                )
            plain.append(numbers)
            axis += _dims(each)
        return tuple(plain) if isinstance(index, tuple) else plain[0]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def __int__(self) -> int:
        return int(self._numbers)

    def __float__(self) -> float:
        return float(self._numbers)

    def __complex__(self) -> complex:
        return complex(self._numbers)

    def __index__(self) -> int:
        return self._numbers.__index__()

    def __repr__(self) -> str:
        return f"<simulated GPU {self._where}: {self._numbers!r}>"

    def __copy__(self) -> ndarray:
        return ndarray(self._numbers.copy(), self._where)

    def __deepcopy__(self, memo: Any) -> ndarray:
        return ndarray(self._numbers.copy(), self._where)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )


class Flags:
    """How an array's elements lie in memory."""

    def __init__(self, numbers: Any) -> None:
        self.c_contiguous, self.f_contiguous = numbers.flags.c_contiguous, numbers.flags.f_contiguous
        self.owndata = numbers.flags.owndata
        self.forc = self.c_contiguous or self.f_contiguous


class Pointer:
    """The place of an array's first element."""

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr


def _dims(index: Any) -> int:
    """How many dimensions one item of an index takes."""
    if index is None or index is Ellipsis or isinstance(index, bool):
        return 0
    return int(index.ndim) if isinstance(index, ndarray) and index.dtype == bool else 1


def numbers_of(value: Any) -> Any:
    """What NumPy gets of an argument: the numbers of this device's arrays. Arrays from elsewhere are refused."""
    if isinstance(value, ndarray):
        if value._where != current():
            raise ValueError(
                f"Array device must be same as the current device: array device = {value._where} while current = "
                f"{current()}"
            )
        return value._numbers
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (list, tuple)) and any(isinstance(each, (ndarray, np.ndarray, list, tuple)) for each in value):
        return type(value)(map(numbers_of, value)) if type(value) in (list, tuple) else value
    return value


def wrap(result: Any) -> Any:
    """What NumPy gave, as arrays of the current device."""
    if isinstance(result, (np.ndarray, np.generic)):
        return ndarray(result, current())
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(wrap, result))
    return type(result)(map(wrap, result)) if type(result) in (list, tuple) else result
