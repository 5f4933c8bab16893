"""Simulated GPUs: CuPy's functions on arrays in host memory, which let through what CuPy does, and nothing else.

A program that runs here runs on CuPy, as far as that can be known without a GPU. Only the functions, parameters and
types of CuPy exist (`cupy_interface.json`, read from CuPy itself); an array belongs to one device and doesn't mix with
NumPy's arrays or another device's; a reduction gives an array of no dimensions, never a number; what is computed
belongs to the current device, and arrays of another device are refused.

Source: https://docs.cupy.dev/en/stable/user_guide/difference.html
"""

from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.arrays.simulated_array import BFLOAT16, ndarray, numbers_of, wrap
from minitorch.arrays.simulated_memory import MEMORIES, current

INTERFACE: dict[str, Any] = json.loads(Path(__file__).with_name("cupy_interface.json").read_text(encoding="utf-8"))

_SCATTERS = ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")
_SCATTER_ADDS = ("int32", "int64", "float16", "float32", "float64", "uint32", "uint64")
_REDUCES = ("add", "multiply")
_VIEWS = ("as_strided", "broadcast_to", "expand_dims", "moveaxis", "reshape", "squeeze", "swapaxes", "transpose")
_NUMBERS = (bool, int, float, complex, np.generic)


@functools.cache
def _signature(parameters: str) -> inspect.Signature:
    return inspect.signature(eval(f"lambda {parameters}: None"))


def _call(name: str, parameters: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call NumPy's function with arguments that CuPy's takes."""
    try:
        _signature(parameters).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}: CuPy has {name}({parameters})") from None
    first = args[0] if args else None
    if name in _VIEWS and isinstance(first, ndarray) and first._where != current():
        with first.device:  # a view needs no work of a GPU, so any may be the current one
            result = _call(name, parameters, function, args, kwargs)
        if not result.size or np.may_share_memory(result._numbers, first._numbers):
            return result
    out = kwargs.get("out")
    try:
        result = function(*map(numbers_of, args), **{key: numbers_of(value) for key, value in kwargs.items()})
    except MemoryError as error:  # the host has too little too
        nbytes = math.prod(error.shape) * error.dtype.itemsize  # type: ignore[attr-defined]  # NumPy's error has them
        raise MEMORIES[current()].full(nbytes) from None
    if out is not None:
        return out
    return wrap(np.bool_(result) if isinstance(result, bool) else result)


class Ufunc:
    """A function of CuPy that works element by element: on its arrays and on numbers, in the types that CuPy has."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.types: list[str] = INTERFACE["ufuncs"][name]
        self._numpy = getattr(np, name)
        self.nin = self.types[0].index("-")
        self._loops = [tuple(tuple(map(_dtype, part)) for part in each.split("->")) for each in self.types]

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> Any:
        inputs = args[: self.nin]
        for each in inputs:
            if not isinstance(each, (ndarray, *_NUMBERS)):
                raise TypeError(f"Unsupported type {type(each)}")
        numbers = [numbers_of(each) for each in inputs]
        self._check(numbers, dtype)
        out = out if len(args) == self.nin else args[self.nin]
        options: dict[str, Any] = {} if out is None else {"out": numbers_of(out)}
        if dtype is not None:
            options["dtype"] = dtype
        if isinstance(self._numpy, np.ufunc):
            options["casting"] = casting
        result = self._numpy(*numbers, **options)
        return wrap(result) if out is None else out

    def _check(self, numbers: list[Any], dtype: Any) -> None:
        """Raises TypeError if CuPy has no loop for these types."""
        if not isinstance(self._numpy, np.ufunc):
            return  # NumPy makes it of other functions
        kinds = [type(each) if type(each) in (int, float, complex) else np.asarray(each).dtype for each in numbers]
        options: dict[str, Any] = {"casting": "unsafe"}
        if dtype is not None:
            options["signature"] = (None,) * self._numpy.nin + (np.dtype(dtype),) * self._numpy.nout
        loop = self._numpy.resolve_dtypes((*kinds, *[None] * self._numpy.nout), **options)
        inputs, outputs = loop[: self.nin], loop[self.nin :]
        for kinds_in, kinds_out in self._loops:
            if all(map(np.can_cast, inputs, kinds_in)) and kinds_out == outputs:
                return
        raise TypeError(f"Wrong type ({', '.join(map(str, inputs))}) of arguments for cupy_{self.__name__}")

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        """Change the elements at the indices, where one stands several times as often."""
        if self.__name__ not in _SCATTERS:
            raise NotImplementedError(f"`cupy_{self.__name__}.at` is not supported yet")
        if self.__name__ == "add" and a.dtype.name not in _SCATTER_ADDS:
            raise TypeError(f"cupy.add.at only supports {', '.join(_SCATTER_ADDS)} as data type")
        self._numpy.at(numbers_of(a), a._index(indices), numbers_of(b))

    def reduce(self, array: ndarray, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The sum or the product along dimensions."""
        if self.__name__ not in _REDUCES:
            raise NotImplementedError(f"`cupy_{self.__name__}.reduce` is not supported yet")
        name = {"add": "sum", "multiply": "prod"}[self.__name__]
        return getattr(xp, name)(array, axis, dtype, out, keepdims)

    def accumulate(self, array: ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The running sum or product along a dimension."""
        if self.__name__ not in _REDUCES:
            raise NotImplementedError(f"`cupy_{self.__name__}.accumulate` is not supported yet")
        name = {"add": "cumsum", "multiply": "cumprod"}[self.__name__]
        return getattr(xp, name)(array, axis, dtype, out)

    def outer(self, A: ndarray, B: ndarray, **kwargs: Any) -> Any:
        """The function of all pairs of elements."""
        return wrap(self._numpy.outer(numbers_of(A), numbers_of(B), **kwargs))


class SimulatedCupy:
    """The names of CuPy, of its top level or of `fft`, `linalg` and `lib.stride_tricks`."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.__name__ = f"cupy.{prefix}".rstrip(".") if prefix else "cupy"

    def __getattr__(self, name: str) -> Any:
        full = self._prefix + name
        found: Any = None
        if any(known.startswith(full + ".") for known in INTERFACE["functions"]):
            found = SimulatedCupy(full + ".")
        elif full in _OWN:
            found = _OWN[full]
        elif full in INTERFACE["ufuncs"] and not self._prefix:
            found = Ufunc(name)
        elif full in INTERFACE["functions"]:
            parameters, function = INTERFACE["functions"][full], _of_numpy(full)
            found = lambda *args, **kwargs: _call(name, parameters, function, args, kwargs)  # noqa: E731
        elif full in INTERFACE["values"]:
            found = _of_numpy(full)
        if found is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        setattr(self, name, found)
        return found


def _dtype(char: str) -> Any:
    """The dtype of a letter in CuPy's lists; NumPy has none for bfloat16."""
    return BFLOAT16 if char == "E" else np.dtype(char)


def _of_numpy(name: str) -> Any:
    return functools.reduce(getattr, name.split("."), np)


def _asarray(obj: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> ndarray:
    """An array of the current device: itself if it is one, else a copy of what it is made of."""
    if isinstance(obj, ndarray):
        numbers = numbers_of(obj)
        same = copy is not True and (dtype is None or numbers.dtype == dtype) and order in (None, "K", "A")
        return obj if same else ndarray(np.array(numbers, dtype, copy=copy, order=order or "K"), current())
    return ndarray(np.array(obj if not isinstance(obj, (list, tuple)) else numbers_of(obj), dtype), current())


def _array(
    obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0
) -> Any:
    """A new array of the current device."""
    if order not in ("K", "C", None) or ndmin:
        raise NotImplementedError(f"simulated array(): order={order!r}, ndmin={ndmin}")
    return _asarray(obj, dtype, order, copy=copy or None)


def _asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """A copy as an array of NumPy."""
    return a.get(order=order, out=out)


def _matmul(*args: Any, out: Any = None, **kwargs: Any) -> Any:
    """The product of matrices. Integers and booleans too, as in CuPy."""
    options = kwargs if out is None else {**kwargs, "out": numbers_of(out)}
    result = wrap(np.matmul(*map(numbers_of, args), **options))
    return result if out is None else out


_OWN: dict[str, Any] = {
    "array": _array,
    "asarray": _asarray,
    "asnumpy": _asnumpy,
    "matmul": _matmul,
    "ndarray": ndarray,
}


class _Grid:
    """`ogrid` and `mgrid`: places along each dimension."""

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def __getitem__(self, index: Any) -> Any:
        return wrap(self._grid[index])


class _Broadcast:
    """The shape that arrays are broadcast to."""

    def __init__(self, *arrays: Any) -> None:
        self.shape = np.broadcast_shapes(*(np.shape(numbers_of(each)) for each in arrays))
        self.nd = len(self.shape)


_OWN.update(broadcast=_Broadcast, mgrid=_Grid(np.mgrid), ogrid=_Grid(np.ogrid))

xp = SimulatedCupy()
"""The array module of all simulated GPUs."""


def _method(name: str, parameters: str) -> Callable[..., Any]:
    rest = parameters.removeprefix("self").removeprefix(", ")

    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        if name in ("reshape", "ravel", "squeeze", "swapaxes", "transpose", "view", "diagonal"):
            with self.device:
                result = _call(name, rest, getattr(self._numbers, name), args, kwargs)
            if not result.size or np.may_share_memory(result._numbers, self._numbers):
                return result  # a view needs no work of a GPU, so any may be the current one
        numbers_of(self)
        return _call(name, rest, getattr(self._numbers, name), args, kwargs)

    method.__name__ = name
    return method


for _name, _parameters in INTERFACE["methods"].items():
    if not hasattr(ndarray, _name) and hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _method(_name, _parameters))


def _array_ufunc(self: ndarray, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    called = getattr(xp, ufunc.__name__)
    if "out" in kwargs and isinstance(kwargs["out"], tuple) and len(kwargs["out"]) == 1:
        (kwargs["out"],) = kwargs["out"]
    return called(*inputs, **kwargs) if method == "__call__" else getattr(called, method)(*inputs, **kwargs)


def _array_function(self: ndarray, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy's is CuPy's of the same name, for arrays of GPUs alone."""
    if any(issubclass(each, np.ndarray) for each in types):
        return NotImplemented
    _, *modules = function.__module__.split(".")
    called: Any = xp
    try:
        for name in (*modules, function.__name__):
            called = getattr(called, name)
    except AttributeError:
        return NotImplemented
    return called(*args, **kwargs)


for _name, _function in (("__array_ufunc__", _array_ufunc), ("__array_function__", _array_function)):
    setattr(ndarray, _name, _function)
