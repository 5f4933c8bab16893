"""Checkpointing: what a function computes on the way isn't kept. The backward pass computes it again."""

# 22b · Where the memory goes
from __future__ import annotations

from typing import Any

from ..amp.autocast_mode import State, cast_as_listed
from ..autograd import Function, enable_grad
from ..dispatch import fill
from ..random import default_generator
from ..tensor import Tensor


def surroundings() -> tuple[Any, ...]:
    """What a result depends on besides the arguments: the generator's state, and where autocast is on."""
    return default_generator.twister.state, default_generator.waiting, State.on


def restore(found: tuple[Any, ...]) -> None:
    """Put back what `surroundings` found."""
    default_generator.twister.state, default_generator.waiting, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


class Checkpoint(Function):
    """A node that keeps only the arguments of a function, and runs it again when the gradient arrives."""

    @staticmethod
    def forward(ctx: Any, function: Any, *tensors: Tensor) -> Any:
        ctx.function, ctx.before = function, surroundings()
        ctx.save_for_backward(*tensors)
        return function(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        tensors = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
        now = surroundings()
        restore(ctx.before)
        try:
            with enable_grad():
                result = ctx.function(*tensors)
        finally:
            restore(now)
        result.backward(grad)
        return None, *(x.grad for x in tensors)


def checkpoint(function: Any, *tensors: Tensor) -> Any:
    """`function(*tensors)`, a tensor, for the price of a second run in `backward`: only the arguments are kept."""
    return Checkpoint.apply(function, *tensors)
