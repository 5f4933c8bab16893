"""A step of stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays.blocks import in_flat_blocks
from minitorch.arrays.loops import on_cpu


def sgd_formula(
    x: Any,
    g: Any,
    b: Any,
    lr: Any,
    decay: Any,
    momentum: Any,
    added: Any,
    nesterov: bool,
    constant: Callable[[Any], Any] | None = None,
) -> None:
    """x ← x − lr · b, where b ← momentum · b + added · g; without a buffer b, x ← x − lr · g. Of arrays or tensors.

    Args:
        decay: how much of x is added to g first.
        nesterov: whether x moves by g + momentum · b.
        constant: gives what of g is added to b, if that isn't added · g.
    """
    if decay:
        g = g + decay * x
    if b is None:
        x -= lr * g
        return
    b *= momentum
    b += constant(g) if constant else g if added == 1 else added * g
    x -= lr * (g + momentum * b if nesterov else b)


@on_cpu("sgd")
@in_flat_blocks(3)
def sgd_step(xp: Any, x: Any, g: Any, b: Any, lr: Any, decay: Any, momentum: Any, added: Any, nesterov: bool) -> None:
    """The formula on arrays, in blocks that stay in the processor's cache."""
    sgd_formula(x, g, b, lr, decay, momentum, added, nesterov)
