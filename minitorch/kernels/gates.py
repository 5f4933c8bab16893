"""GELU and SiLU, products of x with a gate that x opens, and their gradients: written into `out`, block by block."""

from __future__ import annotations

import math
from typing import Any, Final

from minitorch.arrays import Array
from minitorch.arrays.blocks import in_flat_blocks
from minitorch.arrays.loops import on_cpu
from minitorch.kernels.special import erf

ROOT: Final = (2 / math.pi) ** 0.5
CUBIC: Final = 0.044715


def _of_normal(xp: Any, x: Array, approximate: str) -> Array:
    """2 Φ(x) − 1: erf(x/√2), or the tanh that approximates it."""
    return erf(xp, x * 0.5**0.5) if approximate == "none" else xp.tanh(ROOT * (x + CUBIC * (x * x * x)))


@on_cpu("gates")
@in_flat_blocks(2)
def gelu_into(xp: Any, out: Array, x: Array, approximate: str) -> None:
    """x Φ(x), with the normal distribution Φ, or its approximation by tanh."""
    t = _of_normal(xp, x, approximate)
    t += 1
    xp.multiply(t, 0.5 * x, out=out)


@on_cpu("gates")
@in_flat_blocks(3)
def gelu_gradient_into(xp: Any, out: Array, grad: Array, x: Array, approximate: str) -> None:
    """grad · (Φ(x) + x φ(x)), with the normal density φ."""
    square, t = x * x, _of_normal(xp, x, approximate)
    if approximate == "none":
        slope = 0.5 * (1 + t) + x * (xp.exp(square * -0.5) * (0.5 * ROOT))
    else:
        slope = 0.5 * (1 + t) + (0.5 * x) * (1 - t * t) * (ROOT * (1 + 3 * CUBIC * square))
    xp.multiply(slope, grad, out=out)


@on_cpu("gates")
@in_flat_blocks(2)
def silu_into(xp: Any, out: Array, x: Array) -> None:
    """x / (1 + e⁻ˣ)."""
    divisor = xp.exp(-x)
    divisor += 1
    xp.true_divide(x, divisor, out=out)


@on_cpu("gates")
@in_flat_blocks(3)
def silu_gradient_into(xp: Any, out: Array, grad: Array, x: Array) -> None:
    """grad · s(1 + x(1 − s)), s = sigmoid(x)."""
    s = 1 / (1 + xp.exp(-x))
    xp.multiply(grad, s * (1 + x * (1 - s)), out=out)
