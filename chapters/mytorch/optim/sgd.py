"""Stochastic gradient descent, with momentum."""

# 16 · Losses and optimizers
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer, Options


class SGD(Optimizer):
    """x ← x - lr · g. With momentum x ← x - lr · b, where the velocity b ← momentum · b + (1 - dampening) · g.

    Source: https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        for name, value in {
            "learning rate": lr,
            "momentum value": momentum,
            "weight_decay value": weight_decay,
        }.items():
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "nesterov": nesterov})

    def update(self, x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
        """Move `x` by one step."""
        sgd(x, g, state, group)


def sgd(x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
    """Move a parameter `x` with the gradient `g` in place, by one step.

    `group` has the options "lr", "momentum", "dampening", "weight_decay" and "nesterov".
    Weight decay adds weight_decay · x to the gradient. With a momentum other than 0 the velocity is kept
    in state["momentum_buffer"]: the first is the gradient itself, a copy of it; dampening begins with the
    second.
    Nesterov moves along g + momentum · b, with the new b. `g` is not changed.
    """
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g
