"""The Box-Muller transform in float32, bit for bit as PyTorch's vectorised CPU kernel computes it.

Two uniform numbers u₁, u₂ give two normal ones: √(−2 ln u₁) · cos 2πu₂ and √(−2 ln u₁) · sin 2πu₂ (Box and Muller 1958,
doi:10.1214/aoms/1177706645). PyTorch takes logarithm, sine and cosine from the Cephes library's float32 polynomials
(Moshier, https://www.netlib.org/cephes/), in which every a·b + c is rounded once. Here the float32 numbers are kept in
float64 arrays: these hold their products exactly, so that one rounding after the sum gives the same bits.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from minitorch.sampling.arithmetic import Array


def _float32(*values: float) -> list[np.float64]:
    return [np.float64(np.float32(value)) for value in values]


LOG: Final = _float32(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
SIN: Final = _float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS: Final = _float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
# ln 2 and π/4 as sums of numbers with few bits, of which small multiples are exact.
LN2_HIGH, LN2_LOW = _float32(0.693359375, -2.12194440e-4)
QUARTER_PI: Final = _float32(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
SQRT_HALF, FOUR_OVER_PI, TWO_PI = _float32(0.5**0.5, 4 / np.pi, 2 * np.pi)


def _round(x: Array) -> Array:
    return x.astype(np.float32).astype(np.float64)


def _polynomial(coefficients: list[np.float64], x: Array) -> Array:
    """Horner's rule: ((c₀x + c₁)x + c₂)x …"""
    value: Array = _round(coefficients[0] * x + coefficients[1])
    for coefficient in coefficients[2:]:
        value = _round(value * x + coefficient)
    return value


def log(u: Array) -> Array:
    """ln u = e ln 2 + ln(1 + x) for u = 2ᵉ(1 + x) with 1 + x in [√½, √2)."""
    mantissa, exponent = np.frexp(u)
    below = mantissa < SQRT_HALF
    x = np.where(below, 2 * mantissa, mantissa) - 1
    e = (exponent - below).astype(np.float64)
    square = _round(x * x)
    y = _round(_polynomial(LOG, x) * x)
    y = _round(y * square + _round(e * LN2_LOW))
    y = _round(y - 0.5 * square)
    return _round(_round(x + y) + e * LN2_HIGH)


def sin_cos(angle: Array) -> tuple[Array, Array]:
    """Sine and cosine of angles ≥ 0: of the distance to the nearest multiple of π/2, swapped and negated as need be."""
    octant = (_round(angle * FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    x = angle
    for part in QUARTER_PI:
        x = _round(x - octant * part)
    square = _round(x * x)
    cosine = _round(_polynomial(COS, square) * square)
    cosine = _round(_round(cosine * square - 0.5 * square) + 1)
    sine = _round(_round(_polynomial(SIN, square) * square) * x + x)
    swapped = (octant & 2) != 0
    sine, cosine = np.where(swapped, cosine, sine), np.where(swapped, sine, cosine)
    return np.where(octant & 4, -sine, sine), np.where((octant + 2) & 4, -cosine, cosine)


def box_muller(u1: Array, u2: Array) -> tuple[Array, Array]:
    """Two float32 arrays of normal numbers, of float32 arrays u₁ in (0, 1] and u₂ in [0, 1)."""
    radius = _round(np.sqrt(_round(-2 * log(u1.astype(np.float64)))))
    sine, cosine = sin_cos(_round(TWO_PI * u2))
    return (radius * cosine).astype(np.float32), (radius * sine).astype(np.float32)
