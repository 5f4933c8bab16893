"""How loops are compiled: without any freedom to round otherwise, and kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

from minitorch.arrays.loops import cache_folder

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compiles the function for each set of types when it is first called with them, or reads it from the cache.

    Other threads run meanwhile. Sums and products are neither reordered nor fused (no `fastmath`).
    """
    return _compiled(None)(function)


def compiled_for(signature: str) -> Callable[[_Function], _Function]:
    """Compiles the function below for one signature, at once. Called with other types it raises TypeError."""
    return _compiled(signature)


def _compiled(signature: str | None) -> Callable[[_Function], _Function]:
    def decorate(function: _Function) -> _Function:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, cache_folder()
        try:
            compiler = numba.njit(signature, cache=True, nogil=True, error_model="numpy")
            dispatcher: _Function = compiler(function)
            return dispatcher
        finally:
            numba.config.CACHE_DIR = before

    return decorate
