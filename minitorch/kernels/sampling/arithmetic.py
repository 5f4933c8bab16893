"""Arithmetic that rounds as PyTorch's CPU kernels do.

Their compiler fuses a product with the sum it goes into, so that only the sum is rounded; NumPy has no such operation.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK: Final = 8192  # elements: few enough that the intermediate arrays stay in the processor's cache


def multiply_add(a: Array, b: Array | np.floating[Any], c: Array | np.floating[Any]) -> Array:
    """a·b + c, rounded once: all of float32, or a float64 array a with float64 numbers b and c.

    float64 holds the product of two float32 exactly. For float64 the rounding errors of the product and of the sum are
    computed and added back (Dekker 1971, doi:10.1007/BF01397083; Knuth, TAOCP vol. 2, 4.2.2).
    """
    if not isinstance(b, np.ndarray) and b == 1:
        return np.asarray(a + c)
    if a.dtype == np.float32:
        return (np.multiply(a, b, dtype=np.float64) + c).astype(np.float32)
    flat, result = a.reshape(-1), np.empty(a.size)
    for start in range(0, a.size, BLOCK):
        result[start : start + BLOCK] = multiply_add_float64(flat[start : start + BLOCK], b, c)
    return result.reshape(a.shape)


def multiply_add_float64(a: Array, b: Array | np.floating[Any], c: Array | np.floating[Any]) -> Array:
    """`multiply_add` of float64, by any array library."""
    product = a * b
    a_high, b_high = _high_half(a), _high_half(b)
    a_low, b_low = a - a_high, b - b_high
    product_error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    total = product + c
    rest = total - product
    total_error = (product - (total - rest)) + (c - rest)
    result: Array = total + (total_error + product_error)
    return result


def _high_half(x: Any) -> Any:
    """The upper 26 of the 53 bits of `x` (Veltkamp's splitting)."""
    scaled = x * (2.0**27 + 1)
    return scaled - (scaled - x)


def elementary(function: str, values: Array, dtype: np.dtype[Any], *others: Array) -> Array:
    """log, log1p, tan or pow of float64 values that end up in `dtype`.

    PyTorch calls the C library's scalar functions. NumPy's are vectorised and may differ from them in the last bit,
    which only shows where the result is kept in float64.
    """
    if dtype != np.float64:
        return np.asarray(getattr(np, function)(values, *others))
    results = map(getattr(math, function), values.ravel().tolist(), *(each.tolist() for each in others))
    return np.fromiter(results, np.float64, values.size).reshape(values.shape)
