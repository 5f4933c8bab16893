"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, constant, counted, scalar, zeros_like


class ASGD(Optimizer):
    """x ← (1 − lambd · η)x − η · g with η = lr / (1 + lambd · lr · t)^alpha.

    `state["ax"]` is the mean of x from step t0 on.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.ASGD.html; Polyak and Juditsky 1992
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            lr, lambd, decay = constant(group["lr"]), group["lambd"], group["weight_decay"]
            state = self.state[parameter]
            if not state:
                state["step"] = scalar(group, parameter, 0)
                state["eta"] = scalar(group, parameter, lr)
                state["mu"] = scalar(group, parameter, 1)
                state["ax"] = zeros_like(parameter)
            step = counted(group, parameter, state, "params, mus, etas, and state_steps", xla=not group["foreach"])
            eta, mu = state["eta"].item(), state["mu"].item()
            for x, g, mean in blocks(parameter, grad, state["ax"]):
                if decay:
                    g = g + decay * x
                x *= 1 - lambd * eta
                x -= eta * g
                if mu == 1:
                    mean[...] = x
                else:
                    mean += mu * (x - mean)
            state["eta"]._array[...] = lr / (1 + lambd * lr * step) ** group["alpha"]
            state["mu"]._array[...] = 1 / max(1, step - group["t0"])
        return loss
