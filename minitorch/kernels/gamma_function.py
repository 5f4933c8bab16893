"""Kernels of the gamma function's logarithm and its derivatives, which NumPy and CuPy don't have.

float32 and float64 go in and come out; the arithmetic is float64's unless a comment says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.numerics import by_block, in_double, in_single, piecewise, polynomial


def _zeta_minus_one(s: int) -> float:
    """ζ(s) − 1 = Σ k⁻ˢ over k ≥ 2: the terms below n, and the rest by the Euler-Maclaurin formula."""
    n = 40
    derivatives = [s / 12, -s * (s + 1) * (s + 2) / 720, s * (s + 1) * (s + 2) * (s + 3) * (s + 4) / 30240]
    rest = [n ** (1 - s) / (s - 1), n**-s / 2, *(each * n ** (-s - 1 - 2 * i) for i, each in enumerate(derivatives))]
    return math.fsum([k**-s for k in range(2, n)] + rest)


# ln Γ(2 + z) = (1 − γ) z + Σ (−1)ᵏ (ζ(k) − 1)/k zᵏ, k ≥ 2. Abramowitz and Stegun 6.1.33.
_EULER_GAMMA = 0.57721566490153286061
_LOG_GAMMA_SERIES = (0.0, 1 - _EULER_GAMMA, *((-1) ** k * _zeta_minus_one(k) / k for k in range(2, 28)))
# Bernoulli numbers B₂, B₄, …, which the asymptotic series are made of.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _stirling(xp: Any, x: Array) -> Array:
    """ln Γ(x) for x ≥ 10 by Stirling's series. Abramowitz and Stegun 6.1.41."""
    inverse = 1 / x
    series = polynomial(inverse * inverse, [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)])
    return (x - 0.5) * xp.log(x) - x + (0.5 * math.log(2 * math.pi) + inverse * series)


def _log_gamma_middle(xp: Any, x: Array) -> Array:
    """ln Γ(x) for 2.5 ≤ x < 10: x is lowered into the range of the series, and the factors are multiplied up."""
    product = xp.ones_like(x)
    x = x.copy()
    for _ in range(8):
        large = x >= 2.5
        x[large] -= 1
        product[large] *= x[large]
    return xp.log(product) + polynomial(x - 2, _LOG_GAMMA_SERIES)


def _log_gamma_single(xp: Any, x: Array) -> Array:
    """ln |Γ(x)| = ln Γ(|x| + 7) − ln |x|(|x| + 1) … (|x| + 6) in float64; below 0, Γ(x) Γ(−x) = −π/(x sin πx)."""
    size = xp.minimum(xp.abs(x.astype("float64")), 1e37)  # beyond, the result overflows
    product = size * (size + 1)
    for k in range(2, 7):
        product *= size + k
    result = xp.asarray(_stirling(xp, size + 7) - xp.log(product))
    result[(size == 1) | (size == 2)] = 0
    negative = x < 0
    if negative.any():
        z = x[negative].astype("float64")
        value = xp.log(math.pi / xp.abs(z * _sin_pi(xp, z))) - result[negative]
        result[negative] = xp.where(z == xp.floor(z), xp.inf, value)
    return result.astype("float32")


@in_single(_log_gamma_single)
@in_double
def lgamma(xp: Any, x: Array) -> Array:
    """ln |Γ(x)|; ∞ at 0 and the negative integers."""

    def near_zero(x: Array) -> Array:
        """ln Γ(x) = ln Γ(2 + x) − ln(1 + x) − ln x."""
        return polynomial(x, _LOG_GAMMA_SERIES) - xp.log1p(x) - xp.log(x)

    def positive(x: Array) -> Array:
        return piecewise(
            xp,
            x,
            [
                (x < 0.5, near_zero),
                (x < 1.5, lambda x: polynomial(x - 1, _LOG_GAMMA_SERIES) - xp.log1p(x - 1)),
                (x < 2.5, lambda x: polynomial(x - 2, _LOG_GAMMA_SERIES)),
                (x < 10, lambda x: _log_gamma_middle(xp, x)),
                (x == xp.inf, lambda x: x),
            ],
            lambda x: _stirling(xp, x),
        )

    def reflected(x: Array) -> Array:
        """Γ(x) Γ(1 − x) = π / sin πx."""
        return xp.log(math.pi / xp.abs(_sin_pi(xp, x))) - positive(1 - x)

    whole = (x <= 0) & (x == xp.floor(x))
    return piecewise(xp, x, [(whole, lambda x: xp.full_like(x, xp.inf)), (x < 0, reflected)], positive)


def _sin_pi(xp: Any, x: Array) -> Array:
    """sin πx; the multiple of 2π is taken off before the rounding."""
    return xp.sin(math.pi * xp.remainder(x, 2))


# PyTorch's coefficients, of the highest power last: the Bernoulli numbers over 2k.
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


@by_block
def digamma(xp: Any, x: Array) -> Array:
    """Γ′(x)/Γ(x); ∓∞ at ±0, NaN at negative integers. In x's own precision, as in PyTorch.

    x is raised to 10 and more, where ln x − 1/(2x) − Σ B₂ₖ/(2k x²ᵏ) holds. Abramowitz and Stegun 6.3.18.
    """
    size = xp.where(x < 0, 1 - x, x)
    total = xp.zeros_like(size)
    for _ in range(10):
        small = size < 10
        total -= small / size
        size += small
    square = 1 / (size * size)
    total += xp.log(size)
    total -= 0.5 / size
    total -= square * polynomial(square, _DIGAMMA_SERIES)
    below = x < 0
    if below.any():
        fraction = xp.fmod(x[below].astype("float64"), 1)
        total[below] -= (math.pi / xp.tan(math.pi * fraction)).astype(x.dtype)
        total[below & (x == xp.floor(x))] = xp.nan
    zero = x == 0
    total[zero] = xp.copysign(xp.inf, -x[zero])
    return total


@by_block
def trigamma(xp: Any, x: Array) -> Array:
    """The derivative of digamma as PyTorch computes it, to seven digits: π²/sin² πx − trigamma(1 − x) below ½.

    x is raised by 6, where 1/x + 1/(2x²) + Σ B₂ₖ/x²ᵏ⁺¹ holds. Abramowitz and Stegun 6.4.12.
    """
    below = x < 0.5
    size = xp.where(below, 1 - x, x)
    total = xp.zeros_like(size)
    if below.any():
        pi = x.dtype.type(math.pi)
        sine = xp.sin(pi * x[below])
        total[below] = -(pi * pi) / (sine * sine)
    for _ in range(6):
        total += 1 / (size * size)
        size += 1
    square = 1 / (size * size)
    total += (1 + 1 / (2 * size) + square * polynomial(square, (1 / 6, -1 / 30, 1 / 42))) / size
    return xp.where(below, -total, total)


@in_double
def zeta(xp: Any, q: Array, s: Any) -> Array:
    """Hurwitz' ζ(s, q) = Σ (q + k)⁻ˢ over k ≥ 0, by the Euler-Maclaurin formula; below q = 0 term by term.

    ∞ for s = 1 and at the negative integers, NaN for s < 1, and at q = ∞ as in PyTorch.
    """
    first = q = q + 0.0  # without the sign of −0
    total = xp.zeros_like(q)
    while (low := (q <= 0) & (q > -xp.inf)).any():
        total = total + xp.where(low, (1 / xp.where(low, q, 1)) ** s, 0)
        q = xp.where(low, q + 1, q)
    for k in range(12):
        total = total + (1 / (q + k)) ** s
    q = q + 12
    inverse = 1 / q
    power = inverse**s
    total += inverse ** (s - 1) / (s - 1) + 0.5 * power
    term = s * power * inverse
    factorial = 2.0
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += bernoulli / factorial * term
        term = term * ((s + 2 * k - 1) * (s + 2 * k)) * inverse * inverse
        factorial *= (2 * k + 1) * (2 * k + 2)
    total = xp.where(first == xp.inf, xp.nan, xp.where(first == -xp.inf, xp.inf, total))
    return xp.where(s > 1, total, xp.where(s == 1, xp.inf, xp.nan))


def polygamma(xp: Any, x: Array, n: int) -> Array:
    """The n-th derivative of digamma: (−1)ⁿ⁺¹ n! ζ(n + 1, x)."""
    if n < 2:
        return trigamma(xp, x) if n else digamma(xp, x)
    return (-1.0) ** (n + 1) * math.factorial(n) * zeta(xp, x, n + 1.0)
