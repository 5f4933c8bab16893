"""The loop of `kernels/adam.py`: each element of the four arrays is read and written once."""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.loops import are_numbers, flat
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.threads import by_parts


def adam_step(
    x: Array,
    g: Array,
    m: Array,
    v: Array,
    top: Array,
    betas: tuple[Any, Any],
    size: Any,
    scale: Any,
    eps: Any,
    decay: Any,
    shrink: Any,
    amsgrad: bool,
) -> bool:
    """The kernel's step, but for `amsgrad`."""
    numbers = (*betas, size, scale, eps, decay, 1.0 if shrink is None else shrink)
    if amsgrad or not are_numbers(*numbers):
        return False
    arrays = flat(x, g, m, v)
    return arrays is not None and by_parts(_adam_step, arrays, *map(float, numbers))


@compiled
def _adam_step(
    x: Array,
    g: Array,
    m: Array,
    v: Array,
    beta1: float,
    beta2: float,
    size: float,
    scale: float,
    eps: float,
    decay: float,
    shrink: float,
) -> bool:
    number = x.dtype.type
    keep, rest1, rest2 = number(beta2), number(1 - beta1), number(1 - beta2)
    least, step, factor, add = number(eps * scale), number(size * scale), number(shrink), number(decay)
    for i in range(x.size):
        x[i] *= factor
        gradient = g[i] + add * x[i] if decay else g[i]
        m[i] += (gradient - m[i]) * rest1
        v[i] *= keep
        v[i] += gradient * gradient * rest2
        x[i] -= m[i] / (math.sqrt(v[i]) + least) * step
    return True
