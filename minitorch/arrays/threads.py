"""How many threads OpenBLAS uses, the library behind NumPy's products of matrices. Nothing else in an op has several.

It is asked through its own functions, which NumPy's builds rename. Other libraries (Accelerate, MKL) are told by the
environment before they load.
Source: https://github.com/OpenMathLib/OpenBLAS/blob/develop/README.md, "Setting the number of threads at runtime"
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_SPELLINGS = "scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"


def _libraries() -> Iterator[Path]:
    """NumPy's extension module, through which what it is linked with is found, and on Windows the library beside it."""
    yield Path(str(importlib.import_module("numpy._core._multiarray_umath").__file__))
    yield from Path(np.__file__).parents[1].glob("numpy.libs/*openblas*.dll")


@functools.cache
def _openblas(name: str) -> Any:
    """A function of the OpenBLAS that NumPy uses; None where it uses another library."""
    for path in _libraries():
        library = ctypes.CDLL(str(path))
        for spelling in _SPELLINGS:
            if function := getattr(library, spelling.format(name), None):
                return function
    return None


def get_num_threads() -> int:
    """The number of threads that NumPy's OpenBLAS uses; 1 where NumPy uses another library."""
    function = _openblas("get_num_threads")
    return 1 if function is None else int(function())


def set_num_threads(number: int) -> None:
    """Has NumPy's OpenBLAS use so many threads. Where NumPy uses another library, warns that nothing changes."""
    function = _openblas("set_num_threads")
    if function is None:
        warnings.warn(
            "set_num_threads changes nothing: the library of NumPy's products of matrices isn't OpenBLAS. The "
            "environment tells it before it loads (MKL_NUM_THREADS, VECLIB_MAXIMUM_THREADS)",
            UserWarning,
            stacklevel=3,
        )
    else:
        function(ctypes.c_int(number))
