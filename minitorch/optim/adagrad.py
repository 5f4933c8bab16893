"""Adagrad: the more a coordinate has moved, the smaller its steps."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import Group, blocks, check_fused, check_options, counted, functions_for, started, stated
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
        check_options(**stated(locals(), "lr lr_decay weight_decay initial_accumulator_value eps"))
        options = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
        super().__init__(params, stated(locals(), options))
        check_fused(self.defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(group, parameter)

    def _start(self, group: Group, parameter: Tensor) -> dict[str, Any]:
        state = started(self.state[parameter], group, parameter, "sum")
        start = self.defaults["initial_accumulator_value"]
        state["sum"]._put(complex(start, start) if parameter.is_complex() else start)
        return state

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = self.state[parameter] or self._start(group, parameter)
            xp, decay, eps = functions_for(parameter), group["weight_decay"], group["eps"]
            step = counted(group, state)
            lr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
            for x, g, s in blocks(parameter, grad, state["sum"]):
                if decay:
                    g = g + decay * x
                s += g * g
                x -= lr * (g / (xp.sqrt(s) + eps))
        return loss
