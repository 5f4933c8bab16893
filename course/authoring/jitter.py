"""Jitter: sums and products of float32 numbers whose last digits are those of some other machine.

A processor, its kernels and its number of threads decide in which order products of matrices are added up, and so what
rounding loses. With jitter, NumPy's sums and products that float32 can't hold exactly are the nearest float32 number,
moved by -2 to 2 units in the last place. How far follows from the digits that rounding loses, so the same inputs give
the same bits, on each machine; what float32 holds exactly stays as it is.

What a lesson prints must not change: `course build --jitter` runs it so, and lists the cells whose outputs do.
Two ways to a product are NumPy's own and stay as they are: `a @ b` of its arrays, and `a.dot(b)`.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes  # noqa: F401  # which needs NumPy's own functions when it is imported
import numpy as np

PRODUCTS = ("convolve", "correlate", "dot", "einsum", "inner", "matmul", "tensordot", "vdot")
LINEAR_ALGEBRA = ("cholesky", "det", "eigh", "eigvalsh", "inv", "norm", "qr", "slogdet", "solve", "svd")

STEPS = 5
"""How many ways there are to move a number, -2 to 2 units, and so how many other machines."""

SETUP = "from course.authoring import jitter\njitter.install({})"
"""The cell that comes first in a notebook with jitter, but for the number of the machine."""

Function = Callable[..., Any]


def install(machine: int = 0) -> None:
    """Puts functions with jitter in the place of NumPy's, for the rest of the process.

    Args:
        machine: which of the `STEPS` machines it is.
    """
    # A warning would name this file, where the filters of the caller's (minitorch has one) don't see it.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=__name__.replace(".", r"\."))
    add = np.add
    reduce = Jittered(add.reduce, _of_terms, machine)
    for name in PRODUCTS:
        setattr(np, name, Jittered(getattr(np, name), _of_terms, machine))
    for name in LINEAR_ALGEBRA:
        setattr(np.linalg, name, Jittered(getattr(np.linalg, name), _of_result, machine))
    for module, name, function in (
        (np, "sum", Jittered(np.sum, _of_terms, machine)),
        (np, "add", _Add(add, reduce)),
        (np._core._methods, "umr_sum", reduce),  # type: ignore[attr-defined]  # in which the methods sum, mean, var end
    ):
        setattr(module, name, function)


class Jittered:
    """A function of arrays with jitter in its float32 results.

    Args:
        size: `size(function, args, kwargs, result)` of the arguments and the result in float64: how large the numbers
            are whose rounding the result shows.
        machine: which of the machines' results to give.
    """

    def __init__(self, function: Function, size: Function, machine: int) -> None:
        functools.update_wrapper(self, function)
        self.function, self.size, self.machine = function, size, machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        results = self.function(*args, **kwargs)
        parts = results if isinstance(results, tuple) else (results,)
        if not any(isinstance(part, (np.ndarray, np.float32)) and part.dtype == np.float32 for part in parts):
            return results
        wide = tuple(map(_wide, args))
        keywords = {name: _wide(value) for name, value in kwargs.items() if name != "out"}
        with np.errstate(all="ignore"):  # what deserves a warning has had it above
            exact = self.function(*wide, **keywords)
            size = self.size(self.function, wide, keywords, exact)
            if results is not parts:
                return self._moved(results, exact, size)
            return type(results)(*map(self._moved, results, exact, size))  # NumPy's tuples have names

    def _moved(self, narrow: Any, exact: Any, size: Any) -> Any:
        """The float32 numbers next to `exact`, moved, written into `narrow` where that is an array."""
        if narrow.dtype != np.float32:
            return narrow
        nearest = np.asarray(exact, np.float32)
        lost = (exact - nearest) / np.spacing(np.abs(nearest))
        steps = (np.rint(lost * 1024) + self.machine) % STEPS - STEPS // 2
        unit = np.spacing(np.asarray(size, np.float32))
        moved = np.where(np.isfinite(nearest) & (lost != 0), nearest + steps * unit, nearest).astype(np.float32)
        if not isinstance(narrow, np.ndarray):
            return moved[()]
        narrow[...] = moved
        return narrow


class _Add:
    """`np.add`, whose sums alone are another function's."""

    def __init__(self, add: Any, reduce: Function) -> None:
        self.add, self.reduce = add, reduce

    def __getattr__(self, name: str) -> Any:
        return getattr(self.add, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.add(*args, **kwargs)


def _wide(value: Any) -> Any:
    """Float32 arrays, numbers and dtypes as float64's; other arguments as they are."""
    if isinstance(value, (np.ndarray, np.float32)) and value.dtype == np.float32:
        return value.astype(np.float64)
    is_type = isinstance(value, (type, np.dtype)) and value in (np.float32, np.dtype(np.float32))
    return np.float64 if is_type else [*map(_wide, value)] if isinstance(value, list) else value


def _of_terms(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Of a sum of products: the root of the sum of their squares, as large as partial sums are by chance."""
    squares = [value * value if isinstance(value, np.ndarray) else value for value in args]
    return np.maximum(np.abs(result), np.sqrt(np.abs(function(*squares, **kwargs))))


def _of_result(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """The largest number of a result, or of each of several."""
    if isinstance(result, tuple):
        return [_of_result(function, args, kwargs, part) for part in result]
    return np.max(np.abs(result), initial=0)
