"""The Box-Muller transform in float32, bit for bit as PyTorch's vectorised CPU kernel computes it.

Two uniform numbers u₁, u₂ give two normal ones: √(−2 ln u₁) · cos 2πu₂ and √(−2 ln u₁) · sin 2πu₂ (Box and Muller 1958,
doi:10.1214/aoms/1177706645). PyTorch takes logarithm, sine and cosine from the Cephes library's float32 polynomials
(Moshier, https://www.netlib.org/cephes/). Where a product goes into a sum, only the sum is rounded: `multiply_add`.
Where the product is exact anyway, `*` and `+` give the same. Which uniform numbers make a pair is in `normal.py`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from minitorch.kernels.sampling.arithmetic import Array, multiply_add


def _float32(*values: float) -> list[np.float32]:
    return [np.float32(value) for value in values]


LOG: Final = _float32(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
SIN: Final = _float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS: Final = _float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
# ln 2 and π/4 as sums, of which all but the last have so few bits that small multiples are exact.
LN2: Final = _float32(0.693359375, -2.12194440e-4)
QUARTER_PI: Final = _float32(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
FOUR_OVER_PI, TWO_PI = _float32(4 / np.pi, 2 * np.pi)
SQRT_HALF_BITS: Final = np.float32(0.5**0.5).view(np.int32)
MANTISSA_BITS: Final = 23


def _polynomial(coefficients: list[np.float32], x: Array) -> Array:
    """Horner's rule, ((c₀x + c₁)x + c₂)x …, in which each step is rounded once, like `multiply_add`."""
    wide = x.astype(np.float64)
    first, second, *others = map(float, coefficients)
    value = wide * first
    value += second
    for coefficient in others:
        value = value.astype(np.float32).astype(np.float64)
        value *= wide
        value += coefficient
    return value.astype(np.float32)


def log(u: Array) -> Array:
    """ln u = e ln 2 + ln(1 + x) for u = 2ᵉ(1 + x) with 1 + x in [√½, √2)."""
    bits = u.view(np.int32)
    exponent = (bits - SQRT_HALF_BITS) >> MANTISSA_BITS
    x = (bits - (exponent << MANTISSA_BITS)).view(np.float32) - 1
    e = exponent.astype(np.float32)
    square = x * x
    y: Array = multiply_add(_polynomial(LOG, x) * x, square, e * LN2[1]) - np.float32(0.5) * square
    return (x + y) + e * LN2[0]


def sin_cos(angle: Array) -> tuple[Array, Array]:
    """Sine and cosine of angles in [0, 2π], of the distance x to the nearest even multiple of π/4."""
    octant = ((angle * FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    j = octant.astype(np.float32)
    x = multiply_add(j, -QUARTER_PI[2], (angle - j * QUARTER_PI[0]) - j * QUARTER_PI[1])
    square = x * x
    sine = multiply_add(_polynomial(SIN, square) * square, x, x).view(np.int32)
    cosine = (multiply_add(_polynomial(COS, square) * square, square, np.float32(-0.5) * square) + 1).view(np.int32)
    # On the bits: exchange the two where the octant is 2 or 6, and set the signs. np.where takes ten times as long.
    exchange = (sine ^ cosine) & -(octant >> 1 & 1)
    sine_sign, cosine_sign = (octant & 4) << 29, (octant + 2 & 4) << 29
    return (sine ^ exchange ^ sine_sign).view(np.float32), (cosine ^ exchange ^ cosine_sign).view(np.float32)


def box_muller(u1: Array, u2: Array) -> tuple[Array, Array]:
    """Two float32 arrays of normal numbers, of float32 arrays u₁ in (0, 1] and u₂ in [0, 1)."""
    radius = np.sqrt(-2 * log(u1))
    sine, cosine = sin_cos(TWO_PI * u2)
    return radius * cosine, radius * sine
