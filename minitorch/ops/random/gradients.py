"""Gamma and Dirichlet numbers that can be differentiated with respect to the concentration they were drawn with.

A number x with distribution function F(x; α) moves with α as dx/dα = −(∂F/∂α) / (∂F/∂x), which keeps F constant.
Jankowiak and Obermeyer 2018, "Pathwise derivatives beyond the reparameterization trick", https://arxiv.org/abs/1806.01851,
approximate it in three regions: by a Taylor series in x for small x, by a saddle-point expansion for large α, and
between them by a rational function fitted to exact values. The results are PyTorch's to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import declare
from minitorch.dispatch.errors import no_derivative, no_formula, not_implemented
from minitorch.kernels import sampling
from minitorch.kernels.gamma_function import digamma
from minitorch.kernels.numerics import polynomial
from minitorch.ops.random.in_place import sample
from minitorch.random import Generator


@declare(
    variants="function", derivatives={"self": lambda grad, self, result: grad * _standard_gamma_grad(self, result)}
)
def _standard_gamma(xp: Any, self: Array, generator: Generator | None = None) -> Array:
    """Gamma numbers of concentration `self` and rate 1. https://pytorch.org/docs/stable/distributions.html#gamma"""
    return sample(xp, sampling.standard_gamma, generator, self, self)


@declare(
    variants="function",
    derivatives={"self": no_derivative("_sample_dirichlet")},
    node="torch::autograd::NotImplemented",
)
def _sample_dirichlet(xp: Any, self: Array, generator: Generator | None = None) -> Array:
    """Dirichlet numbers along the last axis. https://pytorch.org/docs/stable/distributions.html#dirichlet"""
    return sample(xp, sampling.dirichlet, generator, self, self)


@declare(variants="function", derivatives={"self": no_formula("_standard_gamma_grad")})
def _standard_gamma_grad(xp: Any, self: Array, output: Array) -> Array:
    """dx/dα of gamma numbers x (`output`) drawn with concentrations α (`self`), element by element."""
    alpha, x = self, output
    _check_width(alpha, "_standard_gamma_grad_cpu")
    near_mean = (0.9 * alpha <= x) & (x <= 1.1 * alpha)
    large = xp.where(near_mean, _gamma_near_mean(alpha, x), _gamma_saddle_point(xp, alpha, x))
    between = xp.where(alpha > 8, large, _gamma_rational(xp, alpha, x))
    return xp.asarray(xp.where(x < 0.8, _gamma_series(xp, alpha, x), between), order="C")


def _check_width(array: Array, kernel: str) -> None:
    """Raises NotImplementedError for all types but float32 and float64."""
    if array.dtype.name not in ("float32", "float64"):
        raise not_implemented(kernel, array.dtype.name)


def _gamma_series(xp: Any, alpha: Array, x: Array) -> Array:
    """For small x: F = xᵅ/Γ(α) Σ (−x)ⁱ / (i! (α + i)), differentiated term by term."""
    term, total, slope = xp.ones_like(x), 1 / alpha, 1 / alpha**2
    for i in range(1, 6):
        term = term * (-x / i)
        total += term / (alpha + i)
        slope += term / (alpha + i) ** 2
    density = x ** (alpha - 1) * xp.exp(-x)
    change = (xp.log(x) - digamma(xp, alpha)) * x**alpha * total - x**alpha * slope
    result = -change / density
    return xp.where(xp.isnan(result), 0, result)


def _gamma_near_mean(alpha: Array, x: Array) -> Array:
    """The saddle-point expansion as a polynomial, free of the singularity that its parts have at x = α."""
    stirling = 1 + 24 * alpha * (1 + 12 * alpha)
    series = 1440 * alpha**2 + 6 * x * (53 - 120 * x) - 65 * x * x / alpha + alpha * (107 + 3600 * x)
    return stirling * series / (1244160 * (alpha * alpha) * (alpha * alpha))


def _gamma_saddle_point(xp: Any, alpha: Array, x: Array) -> Array:
    """For large α, away from the mean."""
    scale = xp.sqrt(8 * alpha)
    ratio = xp.log(x / alpha)
    tail = (x - alpha - alpha * ratio) ** -1.5
    sides = scale / (alpha - x) + xp.where(x < alpha, -tail, tail)
    middle = ratio * sides - xp.sqrt(2 / alpha) * (alpha + x) / (alpha - x) ** 2
    stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha))
    return -stirling * x * middle / scale


# exp(p(u, v)/q(u, v)) with u = ln(x/α), v = ln α: a row for each power of v, columns are the powers of u.
_GAMMA_P = (
    (0.16009398, 0.53487893, 0.040121004),
    (-0.094634809, 0.1298071, -0.0065914022),
    (0.025146376, 0.065735949, -0.0026286047),
    (-0.0030648343, -0.0015649758, -0.0013441777),
)
_GAMMA_Q = (
    (1.0, 0.16639465, 0.017050642),
    (0.32668115, 0.020070113, -0.0021309326),
    (0.10406089, -0.0035938915, 0.00085092367),
    (0.0014179084, -0.00058392623, -1.5247877e-07),
)


def _gamma_rational(xp: Any, alpha: Array, x: Array) -> Array:
    """Between: a rational function of two variables."""
    u, v = xp.log(x / alpha), xp.log(alpha)

    def value(rows: Sequence[Sequence[float]]) -> Array:
        return _horner(v, [polynomial(u, row) for row in rows])

    return xp.exp(value(_GAMMA_P) / value(_GAMMA_Q))


def _horner(x: Array, coefficients: Sequence[Any]) -> Array:
    """Σ cᵢ xⁱ where the coefficients are arrays."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = coefficient + x * total
    return total


@declare(
    variants="function",
    derivatives={"x, alpha, total": no_derivative("_dirichlet_grad")},
    node="torch::autograd::NotImplemented",
)
def _dirichlet_grad(xp: Any, x: Array, alpha: Array, total: Array) -> Array:
    """dx/dα, up to the factor 1 − x, of a share x with concentration α of `total`: a Beta(α, total − α) number."""
    _check_width(x, "_dirichlet_grad_cpu")
    beta = total - alpha
    spread = total * x * (1 - x)
    large = (alpha > 6) & (beta > 6)
    between = xp.where(large, _beta_large(xp, x, alpha, beta), _beta_rational(xp, x, alpha, beta, total))
    between = xp.where((x >= 0.5) & (spread < 0.75), -_beta_near_zero(xp, 1 - x, beta, alpha), between)
    return xp.asarray(xp.where((x <= 0.5) & (spread < 2.5), _alpha_near_zero(xp, x, alpha, beta), between), order="C")


def _alpha_near_zero(xp: Any, x: Array, alpha: Array, beta: Array) -> Array:
    """The change with α for x near 0: the series of the incomplete beta function."""
    factor = digamma(xp, alpha) - digamma(xp, alpha + beta) - xp.log(x)
    term = xp.ones_like(x)
    series = term / alpha * (factor + 1 / alpha)
    for i in range(1, 11):
        term = term * ((i - beta) * x / i)
        series += term / (alpha + i) * (factor + 1 / (alpha + i))
    result = x * (1 - x) ** -beta * series
    return xp.where(xp.isnan(result), 0, result)


def _beta_near_zero(xp: Any, x: Array, alpha: Array, beta: Array) -> Array:
    """The change with β for x near 0."""
    factor = digamma(xp, alpha + beta) - digamma(xp, beta)
    term, product, slope = xp.ones_like(x), xp.ones_like(x), xp.zeros_like(x)
    series = factor / alpha
    for i in range(1, 9):
        term = term * (-x / i)
        slope = slope * (beta - i) + product
        product = product * (beta - i)
        series += term / (alpha + i) * (slope + factor * product)
    result = -((1 - x) ** (1 - beta)) * series
    return xp.where(xp.isnan(result), 0, result)


def _beta_large(xp: Any, x: Array, alpha: Array, beta: Array) -> Array:
    """The saddle-point expansion, for large α and β; a polynomial near the mean, where its parts are singular."""
    total = alpha + beta
    mean = alpha / total
    deviation = xp.sqrt(alpha * beta / (total + 1)) / total
    near = (mean - 0.1 * deviation <= x) & (x <= mean + 0.1 * deviation)
    return xp.where(near, _beta_near_mean(x, alpha, beta, total), _beta_saddle_point(xp, x, alpha, beta, total, mean))


def _beta_near_mean(x: Array, alpha: Array, beta: Array, total: Array) -> Array:
    polynomial_of_alpha = [
        47 * x * (beta * beta) * (beta * beta),
        (43 + 20 * (16 + 27 * beta) * x) * (beta * beta) * beta,
        3 * (59 + 180 * beta - 90 * x) * (beta * beta),
        (453 + 1620 * beta * (1 - x) - 455 * x) * beta,
        8 * (1 - x) * (135 * beta - 11),
    ]
    numerator = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total)
    denominator = 12960 * alpha * alpha * alpha * beta * beta * (1 + 12 * total)
    return numerator / (1 - x) * _horner(alpha, polynomial_of_alpha) / denominator


def _beta_saddle_point(xp: Any, x: Array, alpha: Array, beta: Array, total: Array, mean: Array) -> Array:
    def stirling(z: Array) -> Array:
        return 1 + 1 / (12 * z) + 1 / (288 * z * z)

    distance = alpha * (x - 1) + beta * x  # zero at the mean
    first = 2 * (alpha * alpha) * (x - 1) + alpha * beta * (x - 1) - x * (beta * beta)
    first /= xp.sqrt(2 * alpha / beta) * total**1.5 * distance * distance
    pull = 0.5 * xp.log(alpha / (total * x))
    tail = (beta * xp.log(beta / (total * (1 - x))) + alpha * xp.log(alpha / (total * x))) ** -1.5
    sides = xp.sqrt(8 * alpha * beta / total) / distance + xp.where(x < mean, tail, -tail)
    corrections = stirling(alpha) * stirling(beta) / stirling(total)
    return corrections * -x / xp.sqrt(2 * alpha * beta / total) * (first + pull * sides)


# p/q, each Σ cᵢⱼₖ uⁱ aʲ bᵏ with u = ln x, a = ln(α/x), b = ln(total) − a.
_BETA_P = (
    (
        (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
        (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
        (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
    ),
    (
        (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
        (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
        (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
    ),
    (
        (-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565),
        (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
        (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05),
    ),
)
_BETA_Q = (
    (
        (1.0, -0.02924021934, -0.04438342661, 0.007285809825),
        (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
        (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
    ),
    (
        (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
        (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
        (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
    ),
    (
        (0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
        (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
        (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06),
    ),
)


def _beta_rational(xp: Any, x: Array, alpha: Array, beta: Array, total: Array) -> Array:
    """Between: an approximation, and its correction by a rational function of three variables."""
    u = xp.log(x)
    a = xp.log(alpha) - u
    b = xp.log(total) - a

    def value(table: Sequence[Sequence[Sequence[float]]]) -> Array:
        return _horner(u, [_horner(a, [polynomial(b, row) for row in rows]) for rows in table])

    return value(_BETA_P) / value(_BETA_Q) * (x * (digamma(xp, total) - digamma(xp, alpha)) / beta)
