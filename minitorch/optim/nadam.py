"""NAdam: Adam with Nesterov's look ahead."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, counted, functions_for, number, started, stated


class NAdam(Optimizer):
    """Adam whose step uses the momentum of the next step: with μₜ = β₁ (1 − 0.96^(t · momentum_decay) / 2),

    x ← x − lr · ((1 − μₜ) / (1 − Πμ) · g + μₜ₊₁ / (1 − Πμ · μₜ₊₁) · m) / (√v̂ + eps), where Πμ = μ₁ · … · μₜ.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.NAdam.html; Dozat 2016
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        options = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
        )
        super().__init__(params, stated(locals(), options))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = started(self.state[parameter], group, parameter, "exp_avg", "exp_avg_sq", mu_product=1)
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, (beta1, beta2) = group["weight_decay"], group["betas"]
            step = counted(group, state)
            bias = 1 - beta2**step
            mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
            state["mu_product"] *= mu
            product = number(state["mu_product"])
            of_gradient = lr * (1 - mu) / (1 - product)
            of_mean = lr * mu_next / (1 - product * mu_next)
            decoupled = group["decoupled_weight_decay"]
            for x, g, m, v in blocks(parameter, grad, state["exp_avg"], state["exp_avg_sq"]):
                if decay and decoupled:
                    x *= 1 - lr * decay
                elif decay:
                    g = g + decay * x
                m += (1 - beta1) * (g - m)
                v *= beta2
                v += (1 - beta2) * (g * g)
                root = xp.sqrt(v / bias) + eps
                x -= of_gradient * (g / root)
                x -= of_mean * (m / root)
        return loss
