"""The loops of `kernels/gates.py`, in blocks that stay in the first-level cache."""

from __future__ import annotations

from typing import Final

import numpy as np

from minitorch.arrays import Array
from minitorch.arrays.loops import flat
from minitorch.kernels.gates import CUBIC, ROOT
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.inner import exp, tanh
from minitorch.kernels.loops.threads import by_parts
from minitorch.kernels.special import SINGLE_ERF

BLOCK: Final = 1024


def gelu_into(out: Array, x: Array, approximate: str) -> bool:
    """x Φ(x); with the erf in float32 only."""
    arrays = flat(out, x)
    exact = approximate == "none"
    return arrays is not None and not (exact and x.dtype.char == "d") and by_parts(_gelu_into, arrays, exact)


def gelu_gradient_into(out: Array, grad: Array, x: Array, approximate: str) -> bool:
    """grad · (Φ(x) + x φ(x)); with the erf in float32 only."""
    arrays = flat(out, grad, x)
    exact = approximate == "none"
    return arrays is not None and not (exact and x.dtype.char == "d") and by_parts(_gelu_gradient_into, arrays, exact)


def silu_into(out: Array, x: Array) -> bool:
    """x / (1 + e⁻ˣ)."""
    arrays = flat(out, x)
    return arrays is not None and by_parts(_silu_into, arrays)


def silu_gradient_into(out: Array, grad: Array, x: Array) -> bool:
    """grad · s(1 + x(1 − s)), s = sigmoid(x)."""
    arrays = flat(out, grad, x)
    return arrays is not None and by_parts(_silu_gradient_into, arrays)


@compiled
def of_normal(x: Array, exact: bool, t: Array) -> None:
    """t = 2 Φ(x) − 1."""
    number = x.dtype.type
    if exact:
        root, low, high = number(0.5**0.5), number(-4.2), number(4.2)
        for i in range(x.size):
            y = x[i] * root
            y = low if y < low else y
            y = high if y > high else y
            square = y * y
            total = square * number(SINGLE_ERF[6])
            for k in range(5, 0, -1):
                total = (total + number(SINGLE_ERF[k])) * square
            t[i] = y * (total + number(SINGLE_ERF[0]))
    else:
        root, cubic = number(ROOT), number(CUBIC)
        for i in range(x.size):
            t[i] = root * (x[i] + cubic * (x[i] * x[i] * x[i]))
    tanh(t, t)


@compiled
def _gelu_into(out: Array, x: Array, exact: bool) -> bool:
    one, half = x.dtype.type(1), x.dtype.type(0.5)
    t = np.empty(min(BLOCK, x.size), x.dtype)
    for start in range(0, x.size, BLOCK):
        part, into = x[start : start + BLOCK], out[start : start + BLOCK]
        t = t[: part.size]
        of_normal(part, exact, t)
        for i in range(part.size):
            into[i] = (t[i] + one) * (half * part[i])
    return True


@compiled
def _gelu_gradient_into(out: Array, grad: Array, x: Array, exact: bool) -> bool:
    number = x.dtype.type
    one, half = number(1), number(0.5)
    width, root, cubic = number(0.5 * ROOT), number(ROOT), number(3 * CUBIC)
    t, density = np.empty(min(BLOCK, x.size), x.dtype), np.empty(min(BLOCK, x.size), x.dtype)
    for start in range(0, x.size, BLOCK):
        part, g, into = x[start : start + BLOCK], grad[start : start + BLOCK], out[start : start + BLOCK]
        t, density = t[: part.size], density[: part.size]
        of_normal(part, exact, t)
        if exact:
            for i in range(part.size):
                density[i] = part[i] * part[i] * -half
            exp(density, density)
            for i in range(part.size):
                slope = half * (one + t[i]) + part[i] * (density[i] * width)
                into[i] = slope * g[i]
        else:
            for i in range(part.size):
                square = part[i] * part[i]
                steep = (half * part[i]) * (one - t[i] * t[i]) * (root * (one + cubic * square))
                into[i] = (half * (one + t[i]) + steep) * g[i]
    return True


@compiled
def _silu_into(out: Array, x: Array) -> bool:
    one = x.dtype.type(1)
    power = np.empty(min(BLOCK, x.size), x.dtype)
    for start in range(0, x.size, BLOCK):
        part, into = x[start : start + BLOCK], out[start : start + BLOCK]
        power = power[: part.size]
        for i in range(part.size):
            power[i] = -part[i]
        exp(power, power)
        for i in range(part.size):
            into[i] = part[i] / (power[i] + one)
    return True


@compiled
def _silu_gradient_into(out: Array, grad: Array, x: Array) -> bool:
    one = x.dtype.type(1)
    power = np.empty(min(BLOCK, x.size), x.dtype)
    for start in range(0, x.size, BLOCK):
        part, g, into = x[start : start + BLOCK], grad[start : start + BLOCK], out[start : start + BLOCK]
        power = power[: part.size]
        for i in range(part.size):
            power[i] = -part[i]
        exp(power, power)
        for i in range(part.size):
            s = one / (one + power[i])
            into[i] = g[i] * (s * (one + part[i] * (one - s)))
    return True
