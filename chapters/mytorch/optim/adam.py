"""Adam and AdamW: steps of about lr in each coordinate, whatever the gradient's scale."""

# 16 · Losses and optimizers
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..creation import zeros, zeros_like
from ..settings import float32
from ..tensor import Tensor
from .optimizer import Optimizer, Options


class Adam(Optimizer):
    """x ← x - lr · m̂ / (√v̂ + eps), where m̂ and v̂ are running means of g and g², freed of their bias towards 0.

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adam.html; Kingma and Ba 2015,
    arXiv:1412.6980
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        decoupled_weight_decay: bool = False,
    ) -> None:
        for name, value in {"learning rate": lr, "epsilon value": eps, "weight_decay value": weight_decay}.items():
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        for place, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"decoupled_weight_decay": decoupled_weight_decay})

    def update(self, x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
        """Move `x` by one step."""
        adam(x, g, state, group)


def adam(x: Tensor, g: Tensor, state: dict[str, Any], group: Options) -> None:
    """Move a parameter `x` with the gradient `g` in place, by one step.

    `group` has the options "lr", "betas" (β₁, β₂), "eps", "weight_decay" and "decoupled_weight_decay".
    m ← β₁ m + (1 - β₁) g and v ← β₂ v + (1 - β₂) g² start at zero. After t steps m̂ = m / (1 - β₁ᵗ), v̂
    likewise, and x ← x - lr · m̂ / (√v̂ + eps). `state` has "exp_avg" (m), "exp_avg_sq" (v), and "step"
    (t), a float32 tensor without dimensions. At the first call it is empty.

    Weight decay adds weight_decay · x to the gradient; where "decoupled_weight_decay" is set, x is first
    multiplied by 1 - lr · weight_decay instead. `g` is not changed.
    """
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    t = step.item()
    unbiased = m / (1 - beta1**t)
    x -= lr * unbiased / ((v / (1 - beta2**t)).sqrt() + group["eps"])


class AdamW(Adam):
    """Adam whose weight decay shrinks x itself: x ← x - lr · weight_decay · x, beside the adaptive step.

    Source: https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html; Loshchilov and Hutter 2019
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, decoupled_weight_decay=True)
