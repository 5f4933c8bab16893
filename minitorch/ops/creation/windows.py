"""Windows: weights that fall off towards both ends, for spectra.

They are symmetric, or, with `periodic`, symmetric windows of one more element without their last.
Source: https://pytorch.org/docs/stable/generated/torch.hann_window.html
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.dtypes import dtype as DType
from minitorch.dtypes import float64, get_default_dtype
from minitorch.kernels.special import i0
from minitorch.ops.creation.factory import factory
from minitorch.size import as_int, is_whole, kind_name


def _window(
    xp: Any, name: str, length: int, periodic: bool, dtype: DType | None, weight: Callable[[Array, int], Array]
) -> Array:
    """weight(i, n) for i = 0, 1, … of the n points of the symmetric window."""
    kind = dtype or get_default_dtype()
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if not is_whole(length):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {kind_name(length)}")
    length = as_int(length)
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length < 2:
        return xp.ones(length, kind.numpy)
    points = length + periodic
    working = "float64" if kind is float64 else "float32"
    return weight(xp.arange(length, dtype=working), points).astype(kind.numpy, copy=False)


def _cosines(xp: Any, *coefficients: float) -> Callable[[Array, int], Array]:
    """Σ (−1)ᵏ cₖ cos(2πki/(n − 1))."""

    def weight(i: Array, n: int) -> Array:
        turns = i * (2 * math.pi / (n - 1))
        window = xp.zeros_like(turns)
        for k in range(len(coefficients) - 1, 0, -1):  # in PyTorch's order, since near the ends the terms cancel
            term = xp.cos(k * turns if k > 1 else turns)
            term *= (-1) ** k * coefficients[k]
            window += term
        window += coefficients[0]
        return window

    return weight


@factory
def hann_window(xp: Any, dtype: DType | None, window_length: int, periodic: bool = True) -> Array:
    """½ − ½ cos(2πi/(n − 1)). https://pytorch.org/docs/stable/generated/torch.hann_window.html"""
    return _window(xp, "hann_window", window_length, periodic, dtype, _cosines(xp, 0.5, 0.5))


@factory
def hamming_window(
    xp: Any, dtype: DType | None, window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46
) -> Array:
    """α − β cos(2πi/(n − 1)). https://pytorch.org/docs/stable/generated/torch.hamming_window.html"""
    return _window(xp, "hamming_window", window_length, periodic, dtype, _cosines(xp, alpha, beta))


@factory
def blackman_window(xp: Any, dtype: DType | None, window_length: int, periodic: bool = True) -> Array:
    """0.42 − 0.5 cos(2πi/(n − 1)) + 0.08 cos(4πi/(n − 1)). https://pytorch.org/docs/stable/generated/torch.blackman_window.html"""
    return _window(xp, "blackman_window", window_length, periodic, dtype, _cosines(xp, 0.42, 0.5, 0.08))


@factory
def bartlett_window(xp: Any, dtype: DType | None, window_length: int, periodic: bool = True) -> Array:
    """1 − |2i/(n − 1) − 1|. https://pytorch.org/docs/stable/generated/torch.bartlett_window.html"""

    def weight(i: Array, n: int) -> Array:
        i *= 2 / (n - 1)
        falling = i[(n + 1) // 2 :]
        xp.subtract(2, falling, out=falling)
        return i

    return _window(xp, "bartlett_window", window_length, periodic, dtype, weight)


@factory
def kaiser_window(xp: Any, dtype: DType | None, window_length: int, periodic: bool = True, beta: float = 12.0) -> Array:
    """I₀(β √(1 − (2i/(n − 1) − 1)²)) / I₀(β). https://pytorch.org/docs/stable/generated/torch.kaiser_window.html"""

    def weight(i: Array, n: int) -> Array:
        inside = xp.sqrt(xp.maximum(1 - (i * (2 / (n - 1)) - 1) ** 2, 0))
        return i0(xp, beta * inside) / i0(xp, xp.asarray([beta], "float64"))

    return _window(xp, "kaiser_window", window_length, periodic, dtype, weight)
