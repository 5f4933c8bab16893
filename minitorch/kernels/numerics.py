"""What the kernels of special functions are written with: polynomials, pieces, and the precision they compute in."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.blocks import in_blocks
from minitorch.layout import kept_order

Kernel = Callable[..., Array]


def in_double(kernel: Kernel) -> Kernel:
    """Has a kernel compute in float64, a block at a time, and give back the dtype it was called with."""

    @in_blocks
    @functools.wraps(kernel)
    def compute(xp: Any, x: Array, *more: Any) -> Array:
        double = x.astype("float64", order=kept_order(x), copy=x.dtype != "float64" or 0 in x.strides)
        return xp.asarray(kernel(xp, double, *more)).astype(x.dtype, copy=False)

    return compute


def by_block(kernel: Kernel) -> Kernel:
    """Has a kernel compute in the precision of its argument, a block at a time."""
    blockwise = in_blocks(kernel)

    @functools.wraps(kernel)
    def compute(xp: Any, x: Array) -> Array:
        return blockwise(xp, x.astype(x.dtype, order=kept_order(x), copy=0 in x.strides))

    return compute


def in_single(kernel: Kernel) -> Callable[[Kernel], Kernel]:
    """Has float32 computed by `kernel`, one formula for all numbers, instead of by the function that is decorated."""

    def decorate(double: Kernel) -> Kernel:
        single = by_block(kernel)

        @functools.wraps(double)
        def compute(xp: Any, x: Array) -> Array:
            return (single if x.dtype == "float32" else double)(xp, x)

        return compute

    return decorate


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
    x = x if isinstance(x, xp.ndarray) else xp.asarray(x)
    result = xp.empty_like(x)
    uncovered = xp.ones(x.shape, "bool")
    for mask, formula in pieces:
        mask = mask & uncovered
        if mask.any():
            uncovered &= ~mask
            result[mask] = formula(x[mask])
    if uncovered.all():
        return rest(x)
    result[uncovered] = rest(x[uncovered])
    return result
