"""The loop of `kernels/sgd.py`: each element of the arrays is read and written once."""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.loops import are_numbers, flat
from minitorch.kernels.loops.compiling import compiled
from minitorch.kernels.loops.threads import by_parts


def sgd_step(
    x: Array, g: Array, b: Array | None, lr: Any, decay: Any, momentum: Any, added: Any, nesterov: bool
) -> bool:
    """The kernel's step."""
    if not are_numbers(lr, decay, momentum, added):
        return False
    if b is None:
        arrays = flat(x, g)
        return arrays is not None and by_parts(_sgd_step, arrays, float(lr), float(decay))
    arrays = flat(x, g, b)
    numbers = (lr, decay, momentum, added)
    return arrays is not None and by_parts(_momentum_step, arrays, *map(float, numbers), nesterov)


@compiled
def _sgd_step(x: Array, g: Array, lr: float, decay: float) -> bool:
    number = x.dtype.type
    rate, add = number(lr), number(decay)
    for i in range(x.size):
        x[i] -= rate * (g[i] + add * x[i] if decay else g[i])
    return True


@compiled
def _momentum_step(
    x: Array, g: Array, b: Array, lr: float, decay: float, momentum: float, added: float, nesterov: bool
) -> bool:
    number = x.dtype.type
    rate, add, keep, part = number(lr), number(decay), number(momentum), number(added)
    for i in range(x.size):
        gradient = g[i] + add * x[i] if decay else g[i]
        b[i] *= keep
        b[i] += gradient * part
        x[i] -= rate * (gradient + keep * b[i] if nesterov else b[i])
    return True
