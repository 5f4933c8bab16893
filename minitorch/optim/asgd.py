"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, constant, counted, started, stated
from minitorch.scalars import to_scalar


class ASGD(Optimizer):
    """x ← (1 − lambd · η)x − η · g with η = lr / (1 + lambd · lr · t)^alpha.

    `state["ax"]` is the mean of x from step t0 on.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.ASGD.html; Polyak and Juditsky 1992
    """

    _rate_type = ""

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
        options = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, stated(locals(), options))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            lr, lambd, decay = constant(group["lr"]), group["lambd"], group["weight_decay"]
            on_its_device = {**group, "capturable": True}  # its numbers are where the parameter is, as in PyTorch
            state = started(self.state[parameter], on_its_device, parameter, "ax", eta=lr, mu=1)
            step = counted(group, state)
            eta, mu = to_scalar(state["eta"].item(), parameter.dtype), state["mu"].item()
            for x, g, mean in blocks(parameter, grad, state["ax"]):
                if decay:
                    g = g + decay * x
                x *= 1 - lambd * eta
                x -= eta * g
                if mu == 1:
                    mean[...] = x
                else:
                    mean += mu * (x - mean)
            state["eta"]._put(lr / (1 + lambd * lr * step) ** group["alpha"])
            state["mu"]._put(1 / max(1, step - group["t0"]))
        return loss
