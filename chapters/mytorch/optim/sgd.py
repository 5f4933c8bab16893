"""Stochastic gradient descent, with momentum."""

# 16 · Losses and optimizers
from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer, Options, refuse_negative


def sgd(x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
    """Move a parameter `x` with the gradient `g` in place, by one step."""
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


class SGD(Optimizer):
    """x ← x - lr · g. With momentum x ← x - lr · b, where the velocity b ← momentum · b + (1 - dampening) · g."""

    update = staticmethod(sgd)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        refuse_negative({"learning rate": lr, "momentum value": momentum, "weight_decay value": weight_decay})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "nesterov": nesterov})
