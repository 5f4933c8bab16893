"""Dual tensors: values that carry the direction in which they change.

PyTorch's compute tangents as they go. Here autograd records what is done with them, and `unpack_dual` computes the
tangent of a result by the two backward passes of `func.jvp`.
Source: https://docs.pytorch.org/docs/stable/autograd.html#forward-mode-automatic-differentiation
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from typing import NamedTuple

from minitorch.dtypes import FLOATING
from minitorch.func.forward import LinearMap, check_tangent
from minitorch.func.tape import Tape
from minitorch.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A tensor's value, and its tangent: None for one that depends on no dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class _DualLevel(threading.local):
    """The dual tensors that were made in the level that a thread is in: their tapes and tangents. None outside."""

    duals: list[tuple[Tape, Tensor]] | None = None


_state = _DualLevel()


def enter_dual_level() -> int:
    """Begins a level, in which dual tensors can be made, and returns its number, 0. Raises RuntimeError inside one.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.enter_dual_level.html
    """
    if _state.duals is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _state.duals = []
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: its dual tensors have no tangent any more. Raises RuntimeError outside of one.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.exit_dual_level.html
    """
    if _state.duals is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _state.duals = None


class dual_level(ContextDecorator):
    """A block in which dual tensors can be made.

        with dual_level():
            output, tangent = unpack_dual(function(make_dual(primal, tangent)))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.dual_level.html
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """An alias of a tensor that changes in the direction of the tangent.

    It requires a gradient, where PyTorch's does only if the tensor does; in `no_grad` mode it loses its tangent.

    Raises:
        RuntimeError: outside of a level, and for a tangent of another size.
        ValueError: for tensors that are neither floating-point nor complex.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.make_dual.html
    """
    if _state.duals is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if each._dtype.category < FLOATING:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {each.dtype}")
    check_tangent(tensor, tangent)
    tape = Tape(tensor)
    _state.duals.append((tape, tangent))
    dual: Tensor = tape.inputs
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of what was computed of dual tensors.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.unpack_dual.html
    """
    duals = _state.duals or []
    reaching = [(tape, tangent) for tape, tangent in duals if tape.is_reached_from(tape.whole(tensor))]
    if not reaching:
        return UnpackedDualTensor(tensor, None)
    own = [each for tape, _ in duals for each in tape.own]
    tangents = []
    for tape, tangent in reaching:
        tape.own = own
        (found,) = LinearMap(tape, [tape.whole(tensor)])([tape.whole(tangent)])
        tangents.append(tape.released(tape.seen(found)))
    total = tangents[0]
    for each in tangents[1:]:
        total = total + each
    return UnpackedDualTensor(reaching[0][0].released(tensor), total)
