"""Adadelta: steps in the parameter's own units, without a learning rate to choose."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, counted, functions_for, started, stated


class Adadelta(Optimizer):
    """x ← x − lr · d, d = g · √(u + eps) / √(v + eps), where u and v are running means of d² and g² with decay rho.

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adadelta.html; Zeiler 2012, arXiv:1212.5701
    """

    _rate_type = "own"

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(eps=eps, weight_decay=weight_decay)
        super().__init__(params, stated(locals(), "lr rho eps weight_decay maximize capturable foreach differentiable"))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = started(self.state[parameter], group, parameter, "square_avg", "acc_delta")
            counted(group, state)
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, rho = group["weight_decay"], group["rho"]
            for x, g, v, u in blocks(parameter, grad, state["square_avg"], state["acc_delta"]):
                if decay:
                    g = g + decay * x
                v *= rho
                v += (1 - rho) * (g * g)
                d = xp.sqrt(u + eps) / xp.sqrt(v + eps) * g
                u *= rho
                u += (1 - rho) * (d * d)
                x -= lr * d
        return loss
