"""Arrays of the meta device: a shape, a type and strides, but no elements.

A view is taken by NumPy itself (`meta_places`); what NumPy's functions make of such arrays is in `meta_rules`. Kernels
may ask whether something is wrong with their elements. They get the answer of an array without any: `any` is false,
`all` is true, and numbers are 0. What else depends on elements raises `NoDataError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from minitorch.arrays.errors import NoDataError
from minitorch.arrays.meta_places import Place, has_mask, indexed, is_array, like, place


def pointer(array: ndarray) -> int:
    """Where the first element would lie."""
    return int(array._place.__array_interface__["data"][0])


class ndarray(NDArrayOperatorsMixin):
    """An array without elements.

    Args:
        place: an array of NumPy that has its shape, type and strides, at an address where nothing lies.
        known: the number that all elements are known to be, None if there is none.
    """

    __slots__ = ("_known", "_place")

    __array_ufunc__: Any
    __array_function__: Any
    """By which operators and NumPy's functions find their rules. They are in `meta_rules`."""

    def __init__(self, place: Place, known: Any = None) -> None:
        self._place, self._known = place, known

    dtype = property(lambda self: self._place.dtype)
    shape = property(lambda self: self._place.shape)
    strides = property(lambda self: self._place.strides)
    ndim = property(lambda self: self._place.ndim)
    size = property(lambda self: self._place.size)
    nbytes = property(lambda self: self._place.nbytes)
    itemsize = property(lambda self: self._place.itemsize)
    flags = property(lambda self: self._place.flags)
    data = property(lambda self: SimpleNamespace(ptr=pointer(self)))
    T = property(lambda self: ndarray(self._place.T))
    base = None

    @property
    def real(self) -> ndarray:
        """The real parts, as a view."""
        return ndarray(self._place.real)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """The imaginary parts, as a view; zeros where there are none."""
        return ndarray(self._place.imag if self.dtype.kind == "c" else place(self.shape, self.dtype))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def view(self, dtype: Any) -> ndarray:
        """The same memory as elements of another type."""
        return ndarray(self._place.view(dtype))

    def reshape(self, *shape: Any, order: str = "C") -> ndarray:
        """A view where the strides allow one, else a copy."""
        (whole,) = shape if len(shape) == 1 and not isinstance(shape[0], int) else (shape,)
        try:
            return ndarray(np.reshape(self._place, whole, order=order, copy=False))  # type: ignore[call-overload]
        except ValueError:
            flat = place(self.shape, self.dtype)
            return ndarray(np.reshape(flat, whole, copy=False))

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        """The elements in another type."""
        if not copy and self.dtype == dtype:
            return self
        return ndarray(like(self._place, dtype, order), self._known)

    def copy(self, order: str = "C") -> ndarray:
        """The same elements in other memory."""
        return self.astype(self.dtype, order)

    def ravel(self) -> ndarray:
        """The elements in a row: a view where that is possible."""
        return self.reshape(-1)

    def flatten(self) -> ndarray:
        """A copy of the elements in a row."""
        return self.copy().reshape(-1)

    def transpose(self, *axes: Any) -> ndarray:
        """A view with other dimensions first."""
        return ndarray(self._place.transpose(*axes))

    def fill(self, value: Any) -> None:
        """Nothing is written."""

    def tolist(self) -> Any:
        """Nothing, where there is nothing. Raises NoDataError elsewhere."""
        if self.size:
            raise NoDataError
        return np.empty(self.shape).tolist()

    def item(self) -> Any:
        """The number that is known, else 0."""
        return 0 if self._known is None else self._known

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"a meta array has no attribute '{name}'")
        function = getattr(np, name)
        return lambda *args, **kwargs: function(self, *args, **kwargs)

    def __getitem__(self, index: Any) -> ndarray:
        items = index if isinstance(index, tuple) else (index,)
        if has_mask(items) or any(isinstance(each, Selected) for each in items):
            return Selected(place(indexed(self.shape, items), self.dtype))
        if any(is_array(each) for each in items):
            return ndarray(place(indexed(self.shape, items), self.dtype))
        items = tuple(int(each) if isinstance(each, ndarray) else each for each in items)
        return ndarray(self._place[items if Ellipsis in items else (*items, ...)])

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, ndarray) and not has_mask(index):
            shape = self[index].shape
            if np.broadcast_shapes(shape, value.shape[max(0, value.ndim - len(shape)) :]) != shape:
                raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {shape}")

    def __len__(self) -> int:
        return len(self._place)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        if self._known is None:
            raise NoDataError
        return bool(self._known)

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        return f"<meta array of shape {self.shape} and {self.dtype}>"

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NoDataError


class Selected(ndarray):
    """What a mask selects, or elements at places that it selects: none, as far as a kernel can tell.

    A tensor can't be made of them.
    """

    __slots__ = ()


_METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "conj", "conjugate", "cumprod", "cumsum",
    "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "repeat", "round", "searchsorted", "sort", "squeeze",
    "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip
"""The methods that are functions of NumPy's of the same name."""
