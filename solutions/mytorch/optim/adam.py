"""Adam and AdamW: steps of about lr in each coordinate, whatever the gradient's scale."""

# 16 · Losses and optimizers
from __future__ import annotations

from typing import Any

from .. import Tensor, float32, zeros, zeros_like
from .optimizer import Optimizer, Options, refuse_negative


def adam(x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
    """Move a parameter `x` with the gradient `g` in place, by one step."""
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * g * g)
    t = step.item()
    x -= lr / (1 - beta1**t) * m / ((v / (1 - beta2**t)).sqrt() + group["eps"])


class Adam(Optimizer):
    """x ← x - lr · m̂ / (√v̂ + eps), with unbiased running means m̂ and v̂ of g and g². Kingma and Ba 2015."""

    update = staticmethod(adam)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_negative({"learning rate": lr, "epsilon value": eps, "weight_decay value": weight_decay})
        for place, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"decoupled_weight_decay": decoupled_weight_decay})


class AdamW(Adam):
    """Adam whose decay shrinks x itself: x ← x - lr · weight_decay · x. Source: Loshchilov and Hutter 2019."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, decoupled_weight_decay=True)
