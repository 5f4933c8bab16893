"""Kernels of special functions that NumPy and CuPy don't have: erf and its inverse, gamma functions, Bessel's I.

float32 and float64 go in and come out; the arithmetic is float64's unless a comment says otherwise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.backend import Array
from minitorch.layout import kept_order

Kernel = Callable[..., Array]


def in_double(kernel: Kernel) -> Kernel:
    """Has a kernel compute in float64 and give back the dtype it was called with."""

    @functools.wraps(kernel)
    def compute(xp: Any, x: Array, *more: Any) -> Array:
        double = x.astype("float64", order=kept_order(x), copy=x.dtype != "float64" or 0 in x.strides)
        return xp.asarray(kernel(xp, double, *more)).astype(x.dtype, copy=False)

    return compute


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Σ cᵢ xⁱ by Horner's rule; the coefficient of the highest power comes last."""
    total = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient
        total *= x
    total += coefficients[0]
    return total


def piecewise(
    xp: Any, x: Array, pieces: Sequence[tuple[Array, Callable[[Array], Array]]], rest: Callable[[Array], Array]
) -> Array:
    """The function that is computed on each piece by the formula for it, `rest` on what no mask covers."""
    x = xp.asarray(x)
    result = xp.empty_like(x)
    uncovered = xp.ones(x.shape, "bool")
    for mask, formula in pieces:
        mask = mask & uncovered
        uncovered &= ~mask
        result[mask] = formula(x[mask])
    result[uncovered] = rest(x[uncovered])
    return result


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


@in_double
def _erf_double(xp: Any, x: Array) -> Array:
    size = xp.abs(x)
    return piecewise(
        xp, x, [(size <= 0.46875, _erf_near_zero)], lambda x: xp.copysign(1 - _erfc_positive(xp, xp.abs(x)), x)
    )


# In float32, where erf is 1 from 4 on: x P(x²)/Q(x²), fitted to the above with a relative error of 2.5e-8.
_SINGLE_P = (
    1.1283791394067952, 0.19354645491399664, 0.05310175418192397, 0.0038833397010464943, 0.0002845554294225829,
    1.986648191719066e-06,
)  # fmt: skip
_SINGLE_Q = (
    1.0, 0.504858637334628, 0.11535041196745431, 0.015207271334547082, 0.0011855494001490417, 3.7418207200037584e-05,
)  # fmt: skip
_BLOCK = 2**15  # elements whose intermediate results fit into the processor's cache


def _erf_single(xp: Any, x: Array, out: Array) -> None:
    x = xp.minimum(xp.maximum(x, -4), 4)
    square = x * x
    x *= polynomial(square, _SINGLE_P)
    x /= polynomial(square, _SINGLE_Q)
    xp.minimum(xp.maximum(x, -1), 1, out=out)


def erf(xp: Any, x: Array) -> Array:
    """2/√π ∫₀ˣ exp(−t²) dt, to 3 units in the last place."""
    if x.dtype != "float32":
        return _erf_double(xp, x)
    result = xp.empty_like(x, order=kept_order(x))
    if xp.__name__ == "numpy" and x.flags.c_contiguous and x.size > _BLOCK:
        flat, out = x.reshape(-1), result.reshape(-1)
        for start in range(0, x.size, _BLOCK):
            _erf_single(xp, flat[start : start + _BLOCK], out[start : start + _BLOCK])
    else:
        _erf_single(xp, x[...], result)
    return result


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
        [
            (near, lambda x: xp.exp(x * x) * (1 - _erf_near_zero(x))),
            (x > 0, lambda x: _scaled_erfc(xp, x)),
        ],
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


@in_double
def erfinv(xp: Any, x: Array) -> Array:
    """The y with erf(y) = x; ±∞ at ±1, NaN beyond."""
    return _quantile(xp, x / 2, (1 - xp.abs(x)) / 2) * math.sqrt(0.5)


@in_double
def ndtri(xp: Any, p: Array) -> Array:
    """The x with Φ(x) = p; ∓∞ at 0 and 1, NaN beyond."""
    return _quantile(xp, p - 0.5, xp.minimum(p, 1 - p))


# Gamma functions.


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


@in_double
def digamma(xp: Any, x: Array) -> Array:
    """Γ′(x)/Γ(x); ∓∞ at ±0, NaN at negative integers."""

    def positive(x: Array) -> Array:
        x, total = x.copy(), xp.zeros_like(x)
        for _ in range(10):
            small = x < 10
            total[small] -= 1 / x[small]
            x[small] += 1
        square = 1 / (x * x)
        series = polynomial(square, [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)])
        return total + (xp.log(x) - 0.5 / x - square * series)

    def reflected(x: Array) -> Array:
        return positive(1 - x) - math.pi / xp.tan(math.pi * xp.remainder(x, 1))

    whole = (x < 0) & (x == xp.floor(x))
    return piecewise(
        xp,
        x,
        [
            (x == 0, lambda x: xp.copysign(xp.inf, -x)),
            (whole, lambda x: xp.full_like(x, xp.nan)),
            (x < 0, reflected),
            (x == xp.inf, lambda x: x),
        ],
        positive,
    )


@in_double
def zeta(xp: Any, q: Array, s: float) -> Array:
    """Hurwitz' ζ(s, q) = Σ (q + k)⁻ˢ over k ≥ 0, for s > 1 and q > 0, by the Euler-Maclaurin formula."""
    total = q**-s
    for k in range(1, 12):
        total += (q + k) ** -s
    q = q + 12
    total += q ** (1 - s) / (s - 1) + 0.5 * q**-s
    term = s * q ** (-s - 1)
    factorial = 2.0
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += bernoulli / factorial * term
        term = term * (s + 2 * k - 1) * (s + 2 * k) / (q * q)
        factorial *= (2 * k + 1) * (2 * k + 2)
    return total


@in_double
def polygamma(xp: Any, x: Array, n: int) -> Array:
    """The n-th derivative of digamma: (−1)ⁿ⁺¹ n! ζ(n + 1, x). Below 0, for n = 1, by reflection."""
    value = (-1.0) ** (n + 1) * math.factorial(n) * zeta(xp, xp.where(x > 0, x, 1 - x), n + 1.0)
    if n == 1:
        return xp.where(x > 0, value, (math.pi / _sin_pi(xp, x)) ** 2 - value)
    return xp.where(x > 0, value, xp.where(x == 0, xp.inf, xp.nan))


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


@in_double
def i1e(xp: Any, x: Array) -> Array:
    """exp(−|x|) I₁(x)."""
    return _bessel(xp, x, 1)


@in_double
def i0(xp: Any, x: Array) -> Array:
    """I₀(x)."""
    return _bessel(xp, x, 0) * xp.exp(xp.abs(x))


@in_double
def i1(xp: Any, x: Array) -> Array:
    """I₁(x)."""
    return _bessel(xp, x, 1) * xp.exp(xp.abs(x))
