"""Kernels of special functions that NumPy and CuPy don't have: erf, its kin and their inverses, Bessel's I.

float32 and float64 go in and come out; the arithmetic is float64's unless a comment says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.kernels.numerics import in_double, in_single, piecewise, polynomial

# The error function. Cody 1969, "Rational Chebyshev approximations for the error function", doi:10.2307/2004390:
# erf x = x A(x²)/B(x²) for |x| ≤ 0.46875; erfc x = exp(−x²) C(x)/D(x) up to 4, beyond exp(−x²)/x (1/√π − x⁻² P/Q(x⁻²)).

_A = (3.20937758913846947e3, 3.77485237685302021e2, 1.13864154151050156e2, 3.16112374387056560, 1.85777706184603153e-1)
_B = (2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2, 2.36012909523441209e1, 1.0)
_C = (
    1.23033935479799725e3, 2.05107837782607147e3, 1.71204761263407058e3, 8.81952221241769090e2, 2.98635138197400131e2,
    6.61191906371416295e1, 8.88314979438837594, 5.64188496988670089e-1, 2.15311535474403846e-8,
)  # fmt: skip
_D = (
    1.23033935480374942e3, 3.43936767414372164e3, 4.36261909014324716e3, 3.29079923573345963e3, 1.62138957456669019e3,
    5.37181101862009858e2, 1.17693950891312499e2, 1.57449261107098347e1, 1.0,
)  # fmt: skip
_P = (
    6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1, 3.60344899949804439e-1,
    3.05326634961232344e-1, 1.63153871373020978e-2,
)  # fmt: skip
_Q = (
    2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1, 1.87295284992346725, 2.56852019228982242,
    1.0,
)  # fmt: skip
_INVERSE_ROOT_PI = 1 / math.sqrt(math.pi)


def _scaled_erfc(xp: Any, y: Array) -> Array:
    """exp(y²) erfc(y) for y ≥ 0.46875."""

    def far(y: Array) -> Array:
        square = 1 / (y * y)
        return (_INVERSE_ROOT_PI - square * polynomial(square, _P) / polynomial(square, _Q)) / y

    return piecewise(xp, y, [(y <= 4, lambda y: polynomial(y, _C) / polynomial(y, _D))], far)


def _exp_minus_square(xp: Any, y: Array) -> Array:
    """exp(−y²) without the loss of digits that squaring a large y brings: y is split into sixteenths and the rest."""
    coarse = xp.trunc(y * 16) / 16
    return xp.exp(-coarse * coarse) * xp.exp(-(y - coarse) * (y + coarse))


def _erf_near_zero(x: Array) -> Array:
    square = x * x
    return x * polynomial(square, _A) / polynomial(square, _B)


def _erfc_positive(xp: Any, y: Array) -> Array:
    """erfc(y) for y ≥ 0.46875; 0 where it is too small."""
    y = xp.minimum(y, 30.0)
    return _exp_minus_square(xp, y) * _scaled_erfc(xp, y)


# In float32, where erf is 1 from 4 on: tanh of x P(x²), fitted to the above with a relative error of 1e-7.
SINGLE_ERF = (
    1.128379225730896, 0.10276905447244644, -0.00019183041877113283, -0.0006197849870659411, 8.763744699535891e-05,
    -5.668494395649759e-06, 1.4185327756877086e-07,
)  # fmt: skip


def _erf_single(xp: Any, x: Array) -> Array:
    x = xp.clip(x, -4.2, 4.2)
    x *= polynomial(x * x, SINGLE_ERF)
    return xp.tanh(x)


@in_single(_erf_single)
@in_double
def erf(xp: Any, x: Array) -> Array:
    """2/√π ∫₀ˣ exp(−t²) dt; of float32 to 4 units in the last place."""
    size = xp.abs(x)
    return piecewise(
        xp, x, [(size <= 0.46875, _erf_near_zero)], lambda x: xp.copysign(1 - _erfc_positive(xp, xp.abs(x)), x)
    )


# For float32: exp(−x²) t P(t) with t = 1/(1 + x/2) for x ≥ 0, fitted with a relative error of 3e-8.
_SINGLE_ERFC = (
    0.2820751656639122, 0.2826266050482989, 0.2407432861602682, 0.21494598354825245, -0.06552795409912249,
    0.35656502449457467, -0.5882977465023461, 0.36501315937850554, -0.09507469468902932, 0.006931142328209961,
)  # fmt: skip


def _erfc_single(xp: Any, x: Array) -> Array:
    size = xp.abs(x.astype("float64"))
    t = 1 / (1 + 0.5 * size)
    tail = xp.exp(-size * size) * t * polynomial(t, _SINGLE_ERFC)
    return xp.where(x < 0, 2 - tail, tail).astype("float32")


@in_single(_erfc_single)
@in_double
def erfc(xp: Any, x: Array) -> Array:
    """1 − erf(x), without cancellation."""

    def far(x: Array) -> Array:
        tail = _erfc_positive(xp, xp.abs(x))
        return xp.where(x > 0, tail, 2 - tail)

    return piecewise(xp, x, [(xp.abs(x) <= 0.46875, lambda x: 1 - _erf_near_zero(x))], far)


@in_double
def erfcx(xp: Any, x: Array) -> Array:
    """exp(x²) erfc(x)."""
    near = xp.abs(x) <= 0.46875
    return piecewise(
        xp,
        x,
        [(near, lambda x: xp.exp(x * x) * (1 - _erf_near_zero(x))), (x > 0, lambda x: _scaled_erfc(xp, x))],
        lambda x: 2 * xp.exp(x * x) - _scaled_erfc(xp, -x),
    )


# Quantiles of the normal distribution. Wichura 1988, algorithm AS 241, PPND16, doi:10.2307/2347330.

_CENTRAL = (
    (
        3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
        4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
    ),
    (
        1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
        3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
    ),
)  # fmt: skip
_TAIL = (
    (
        1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
        1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
        1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
    ),
)  # fmt: skip
_FAR_TAIL = (
    (
        6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
        2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ),
    (
        1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
        7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
    ),
)  # fmt: skip


def _ratio(x: Array, fraction: tuple[Sequence[float], Sequence[float]]) -> Array:
    return polynomial(x, fraction[0]) / polynomial(x, fraction[1])


def _quantile(xp: Any, q: Array, tail: Array) -> Array:
    """The x with Φ(x) = q + ½, given the probability of its tail, ½ − |q|, which may be known more precisely."""
    root = xp.sqrt(-xp.log(xp.where(tail > 0, tail, 1)))
    far = xp.where(root <= 5, _ratio(root - 1.6, _TAIL), _ratio(root - 5, _FAR_TAIL))
    central = q * _ratio(0.180625 - q * q, _CENTRAL)
    result = xp.where(xp.abs(q) <= 0.425, central, xp.copysign(far, q))
    result = xp.where(tail == 0, xp.copysign(xp.inf, q), result)
    return xp.where(tail >= 0, result, xp.nan)


# In float32: x P(w − 2.5) for w = −ln(1 − x²) < 5, else x Q(√w − 3), with a relative error of 3e-7.
# Giles 2012, "Approximating the erfinv function", https://people.maths.ox.ac.uk/gilesm/files/gems_erfinv.pdf
_INNER = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
    3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_OUTER = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
    0.000100950558, -0.000200214257,
)  # fmt: skip


def _erfinv_single(xp: Any, x: Array) -> Array:
    w = -xp.log((1 - x) * (1 + x))
    result = x * xp.where(w < 5, polynomial(w - 2.5, _INNER), polynomial(xp.sqrt(w) - 3, _OUTER))
    return xp.where(xp.abs(x) == 1, x * xp.inf, result)


@in_single(_erfinv_single)
@in_double
def erfinv(xp: Any, x: Array) -> Array:
    """The y with erf(y) = x; ±∞ at ±1, NaN beyond."""
    return _quantile(xp, x / 2, (1 - xp.abs(x)) / 2) * math.sqrt(0.5)


@in_double
def ndtri(xp: Any, p: Array) -> Array:
    """The x with Φ(x) = p; ∓∞ at 0 and 1, NaN beyond."""
    return _quantile(xp, p - 0.5, xp.minimum(p, 1 - p))


# Modified Bessel functions.


def _bessel(xp: Any, x: Array, order: int) -> Array:
    """exp(−|x|) Iₙ(x) for n = 0 and 1."""
    size = xp.abs(x)

    def series(size: Array) -> Array:
        """Σ (x/2)²ᵏ⁺ⁿ/(k! (k + n)!)."""
        quarter = size * size / 4
        coefficients = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(45)]
        return xp.exp(-size) * (size / 2) ** order * polynomial(quarter, coefficients)

    def asymptotic(size: Array) -> Array:
        """1/√(2πx) Σ (−1)ᵏ aₖ/xᵏ. Abramowitz and Stegun 9.7.1."""
        coefficients = [1.0]
        for k in range(1, 30):
            coefficients.append(-coefficients[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
        return polynomial(1 / size, coefficients) / xp.sqrt(2 * math.pi * size)

    value = piecewise(xp, size, [(size <= 20, series)], asymptotic)
    return xp.copysign(value, x) if order else value


@in_double
def i0e(xp: Any, x: Array) -> Array:
    """exp(−|x|) I₀(x)."""
    return _bessel(xp, x, 0)


# For float32: √(x + 4)⁻³ x P(u) with u = (4 − x)/(4 + x) for x ≥ 0, fitted with a relative error of 1.3e-7.
_SINGLE_I1E = (
    1.01116753, 1.24942246, 1.14036971, 0.727104043, 0.145843083, -0.247183223, -0.167467556, 0.119609591,
    0.113518434, -0.084254799, -0.0650870447, 0.053432336, 0.0263318768, -0.0213467398, -0.00520518713,
    0.00374495235,
)  # fmt: skip


def _i1e_single(xp: Any, x: Array) -> Array:
    size = xp.abs(x)
    inverse = 1 / (size + 4)
    result = polynomial(8 * inverse - 1, _SINGLE_I1E)
    result *= xp.sqrt(inverse)
    result *= xp.clip(x, -3e38, 3e38) * inverse  # lest it be ∞ · 0
    return result


@in_single(_i1e_single)
@in_double
def i1e(xp: Any, x: Array) -> Array:
    """exp(−|x|) I₁(x)."""
    return _bessel(xp, x, 1)


@in_double
def i0(xp: Any, x: Array) -> Array:
    """I₀(x)."""
    return _bessel(xp, x, 0) * xp.exp(xp.abs(x))


@in_single(lambda xp, x: _i1e_single(xp, x) * xp.exp(xp.abs(x)))
@in_double
def i1(xp: Any, x: Array) -> Array:
    """I₁(x)."""
    return _bessel(xp, x, 1) * xp.exp(xp.abs(x))
