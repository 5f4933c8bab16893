"""RAdam: Adam that waits with adapting until its estimate of the variance can be trusted."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, counted, functions_for, started, stated


class RAdam(Optimizer):
    """x ← x − lr · m̂ · r / (√v̂ + …) once the variance of v̂ is tractable (ρₜ > 5), before that x ← x − lr · m̂:

    ρ∞ = 2 / (1 − β₂) − 1, ρₜ = ρ∞ − 2t β₂ᵗ / (1 − β₂ᵗ), r² = (ρₜ − 4)(ρₜ − 2)ρ∞ / ((ρ∞ − 4)(ρ∞ − 2)ρₜ).
    Source: https://pytorch.org/docs/stable/generated/torch.optim.RAdam.html; Liu et al. 2020, arXiv:1908.03265
    """

    _rate_type = ""

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        options = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
        super().__init__(params, stated(locals(), options))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = started(self.state[parameter], group, parameter, "exp_avg", "exp_avg_sq")
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, (beta1, beta2) = group["weight_decay"], group["betas"]
            step = counted(group, state)
            bias1, bias2 = 1 - beta1**step, 1 - beta2**step
            longest = 2 / (1 - beta2) - 1
            length = longest - 2 * step * beta2**step / bias2
            tractable = length > 5
            if tractable:
                rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
                size = lr / bias1 * (rectified * bias2) ** 0.5
            decoupled = group["decoupled_weight_decay"]
            for x, g, m, v in blocks(parameter, grad, state["exp_avg"], state["exp_avg_sq"]):
                if decay and decoupled:
                    x *= 1 - lr * decay
                elif decay:
                    g = g + decay * x
                m += (1 - beta1) * (g - m)
                v *= beta2
                v += (1 - beta2) * (g * g)
                x -= size * (m / (xp.sqrt(v) + eps)) if tractable else lr / bias1 * m
        return loss
