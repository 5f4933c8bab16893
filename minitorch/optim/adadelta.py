"""Adadelta: steps in the parameter's own units, without a learning rate to choose."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, blocks, check_options, counted, scalar, zeros_like


class Adadelta(Optimizer):
    """x ← x − lr · d, d = g · √(u + eps) / √(v + eps), where u and v are running means of d² and g² with decay rho.

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adadelta.html; Zeiler 2012, arXiv:1212.5701
    """

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
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, value, grad in self._gradients():
            state = self.state[parameter]
            if not state:
                state["step"] = scalar(0)
                state["square_avg"] = zeros_like(parameter)
                state["acc_delta"] = zeros_like(parameter)
            counted(state)
            xp, lr, decay, eps = parameter.device.xp, float(group["lr"]), group["weight_decay"], group["eps"]
            rho = group["rho"]
            for x, g, v, u in blocks(value, grad, state["square_avg"]._array, state["acc_delta"]._array):
                if decay:
                    g = g + decay * x
                v *= rho
                v += (1 - rho) * (g * g)
                d = xp.sqrt(u + eps) / xp.sqrt(v + eps) * g
                u *= rho
                u += (1 - rho) * (d * d)
                x -= lr * d
        return loss
