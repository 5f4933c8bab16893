"""Who may overwrite a gradient: a backward pass counts in how many places it keeps one that nobody else can see.

Formulas of ops make new gradients, which only the pass has (`hand_on`). One that a hook, a user's function or a caller
gets to see isn't the pass's alone any more (`show`). In a pass that is recorded, or that layers watch, nothing is
overwritten, because the graph and the layers may keep gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.devices import cpu
from minitorch.dispatch import layers

if TYPE_CHECKING:
    from minitorch.arrays import Array
    from minitorch.tensor import Tensor


def hand_on(grads: Sequence[Tensor | None], results: Iterable[Tensor | None]) -> None:
    """Counts anew where `grads` were kept and `results` are from now on: new tensors, or some of the `grads`."""
    grad, several = grads[0], len(grads) > 1
    for each in results:
        if each is not None:
            if each._holders:
                each._holders += 1
            elif each is not grad and not (several and any(each is other for other in grads)):
                each._holders = 1
    if several:
        for each in grads:
            let_go(each)
    elif grad is not None and grad._holders:
        grad._holders -= 1


def let_go(grad: Tensor | None) -> None:
    """Counts that a gradient is kept in one place less."""
    if grad is not None and grad._holders:
        grad._holders -= 1


def show(grads: Iterable[Tensor | None]) -> None:
    """Marks gradients that somebody is about to see who may keep them: the pass overwrites them no more."""
    for each in grads:
        if each is not None:
            each._holders = 0


def spare_memory(grad: Tensor) -> Array | None:
    """The array of a gradient that is kept in one place, to be overwritten there; None if somebody else can see it."""
    array = grad._array
    spare = (
        grad._holders == 1
        and grad._storage is None  # nobody took a view
        and grad._device is cpu
        and grad._dtype.is_native
        and not (grad._bits or grad_mode.enabled or layers.count)
        and array.base is None
        and array.flags.c_contiguous
    )
    return array if spare else None
