"""The incomplete gamma functions: the lower and the upper part of Γ(a) = ∫ tᵃ⁻¹ e⁻ᵗ dt, divided by it.

Abramowitz and Stegun, 6.5.29 (the series) and 6.5.31 (the continued fraction), as in *Numerical recipes*, §6.2.
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import pointwise
from minitorch.dispatch.errors import not_implemented
from minitorch.kernels import gamma_function as kernels
from minitorch.tensor import Tensor

_EPSILON = 1e-16
_TINY = 1e-300
_MOST_TERMS = 100_000  # which a of 10⁹ doesn't reach: the terms that matter are about √a


def _scale(xp: Any, a: Array, x: Array) -> Array:
    """xᵃ e⁻ˣ / Γ(a)."""
    return xp.exp(a * xp.log(x) - x - kernels.lgamma(xp, a))


def _lower_series(xp: Any, a: Array, x: Array) -> Array:
    """Σ xᵏ / (a (a + 1) … (a + k)), for x < a + 1."""
    term = 1 / a
    total = term.copy()
    for k in range(1, _MOST_TERMS):
        term = term * x / (a + k)
        total += term
        if not (term > _EPSILON * total).any():
            break
    return total * _scale(xp, a, x)


def _upper_fraction(xp: Any, a: Array, x: Array) -> Array:
    """1/(x + 1 − a − 1(1 − a)/(x + 3 − a − …)), for x ≥ a + 1, by Lentz' method."""
    b = x + 1 - a
    c = xp.full_like(x, 1 / _TINY)
    d = 1 / b
    value = d.copy()
    for k in range(1, _MOST_TERMS):
        numerator = -k * (k - a)
        b = b + 2
        d = numerator * d + b
        d = 1 / xp.where(xp.abs(d) < _TINY, _TINY, d)
        c = b + numerator / c
        c = xp.where(xp.abs(c) < _TINY, _TINY, c)
        value = value * d * c
        if not (xp.abs(d * c - 1) > _EPSILON * 10).any():
            break
    return value * _scale(xp, a, x)


def _part(xp: Any, name: str, a: Array, x: Array, lower: bool) -> Array:
    kind = xp.result_type(a, x)
    if kind.kind != "f":
        raise not_implemented(name, kind.name)
    a, x = (each.astype("float64") for each in xp.broadcast_arrays(a, x))
    result = xp.full(a.shape, xp.nan)
    result[(a > 0) & (x == 0)] = 0
    result[((a == 0) & (x > 0)) | ((a > 0) & xp.isfinite(a) & xp.isposinf(x))] = 1
    result[xp.isposinf(a) & (x >= 0) & xp.isfinite(x)] = 0
    inside = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    by_series = inside & (x < a + 1)
    by_fraction = inside & ~by_series
    result = result if lower else xp.subtract(1, result, out=result)
    series = _lower_series(xp, a[by_series], x[by_series])
    fraction = _upper_fraction(xp, a[by_fraction], x[by_fraction])
    result[by_series] = series if lower else 1 - series
    result[by_fraction] = 1 - fraction if lower else fraction
    return result.astype(kind)


def _density(self: Tensor, other: Tensor) -> Any:
    """xᵃ⁻¹ e⁻ˣ / Γ(a)."""
    return ((self - 1) * other.log() - other - self.lgamma()).exp()


def _refused(name: str) -> Any:
    def gradient(grad: Tensor) -> Tensor:
        raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")

    return gradient


@pointwise(derivatives={"self": _refused("igamma"), "other": lambda grad, self, other: grad * _density(self, other)})
def igamma(xp: Any, self: Array, other: Array) -> Array:
    """P(a, x) = ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a), differentiable in x.

    https://pytorch.org/docs/stable/special.html#torch.special.gammainc
    """
    return _part(xp, "igamma_cpu", self, other, lower=True)


@pointwise(derivatives={"self": _refused("igammac"), "other": lambda grad, self, other: -grad * _density(self, other)})
def igammac(xp: Any, self: Array, other: Array) -> Array:
    """Q(a, x) = 1 − P(a, x), differentiable in x. https://pytorch.org/docs/stable/special.html#torch.special.gammaincc"""
    return _part(xp, "igammac_cpu", self, other, lower=False)
