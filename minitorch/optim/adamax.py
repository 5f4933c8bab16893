"""Adamax: Adam with the largest recent gradient in place of the root mean square."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, counted, functions_for, started, stated


class Adamax(Optimizer):
    """x ← x − lr / (1 − β₁ᵗ) · m / u, where m ← β₁m + (1 − β₁)g and u ← max(β₂u, |g| + eps).

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adamax.html; Kingma and Ba 2015, arXiv:1412.6980
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        options = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, stated(locals(), options))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = started(self.state[parameter], group, parameter, "exp_avg", "exp_inf")
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, (beta1, beta2) = group["weight_decay"], group["betas"]
            step = counted(group, state)
            size = lr / (1 - beta1**step)
            for x, g, m, u in blocks(parameter, grad, state["exp_avg"], state["exp_inf"]):
                if decay:
                    g = g + decay * x
                m += (1 - beta1) * (g - m)
                u *= beta2
                xp.maximum(u, xp.abs(g) + eps, out=u)
                x -= size * (m / u)
        return loss
