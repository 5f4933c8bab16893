"""A step of Adam on arrays: the formula of `optim/adam.py` in few passes over the memory."""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.blocks import in_flat_blocks
from minitorch.arrays.kernel import on_gpu, threads
from minitorch.arrays.loops import on_cpu


def _by_element(
    x: Array,
    g: Array,
    m: Array,
    v: Array,
    top: Array,
    betas: tuple[float, float],
    size: float,
    scale: float,
    eps: float,
    decay: float,
    shrink: float | None,
    amsgrad: bool,
) -> tuple[int, tuple[Any, ...]]:
    numbers = (*betas, size, scale, eps, decay, 1 if shrink is None else shrink)
    return threads(x.size), (x, g, m, v, top, x.size, *map(float, numbers), int(amsgrad))


@on_gpu("adam.cu", _by_element)
@on_cpu("adam")
@in_flat_blocks(5)
def adam_step(
    xp: Any,
    x: Any,
    g: Any,
    m: Any,
    v: Any,
    top: Any,
    betas: tuple[Any, Any],
    size: Any,
    scale: Any,
    eps: Any,
    decay: Any,
    shrink: Any,
    amsgrad: bool,
) -> None:
    """x ← x − size · m / (√v / scale + eps), where m and v are the running means of g and g², which it updates first.

    Args:
        top: the largest v so far, which takes the place of v if `amsgrad`; else v itself.
        size: the learning rate over 1 − β₁ᵗ, the correction of m's bias.
        scale: √(1 − β₂ᵗ), the correction of √v's.
        decay: how much of x is added to g.
        shrink: what x is multiplied by first, or None.
    """
    beta1, beta2 = betas
    if shrink is not None:
        x *= shrink
    if decay:
        g = g + decay * x
    change = g - m
    change *= 1 - beta1
    m += change
    v *= beta2
    square = xp.multiply(g, g, out=change)  # in the same memory: it is in the cache
    square *= 1 - beta2
    v += square
    if amsgrad:
        xp.maximum(top, v, out=top)
    # with a pass over the memory less than the formula has
    divisor = xp.sqrt(top, out=square)
    divisor += eps * scale
    update = xp.divide(m, divisor, out=divisor)
    update *= size * scale
    x -= update
