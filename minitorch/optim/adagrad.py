"""Adagrad: the more a coordinate has moved, the smaller its steps."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import (
    Closure,
    Optimizer,
    Parameters,
    blocks,
    check_fused,
    check_options,
    counted,
    scalar,
    zeros_like,
)
from minitorch.tensor import Tensor


class Adagrad(Optimizer):
    """x ← x − lrₜ · g / (√s + eps), where s is the sum of all g² so far and lrₜ = lr / (1 + (t − 1) · lr_decay).

    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adagrad.html; Duchi et al. 2011
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        check_fused(fused, foreach)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(parameter)

    def _start(self, parameter: Tensor) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        sums = zeros_like(parameter, complex(start, start) if parameter.is_complex() else start)
        self.state[parameter] = {"step": scalar(0), "sum": sums}
        return self.state[parameter]

    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, value, grad in self._gradients():
            state = self.state[parameter] or self._start(parameter)
            xp, decay, eps = parameter.device.xp, group["weight_decay"], group["eps"]
            lr = float(group["lr"]) / (1 + (counted(state) - 1) * group["lr_decay"])
            for x, g, s in blocks(value, grad, state["sum"]._array):
                if decay:
                    g = g + decay * x
                s += g * g
                x -= lr * (g / (xp.sqrt(s) + eps))
        return loss
