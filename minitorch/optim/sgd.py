"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.kernels.sgd import sgd_formula, sgd_step
from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import check_fused, check_one_element, detached, elements, stated, zeros_like


class SGD(Optimizer):
    """x ← x − lr · g; with momentum x ← x − lr · b, where b ← momentum · b + (1 − dampening) · g starts as the first g.

    `weight_decay` adds weight_decay · x to g; `nesterov` moves by g + momentum · b; `maximize` goes uphill.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.SGD.html; Sutskever et al. 2013
    """

    _rate_type = "own"

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_one_element(lr)
        for word, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {word}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        super().__init__(params, stated(locals(), options))
        check_fused(self.defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            momentum, added, buffers = group["momentum"], 1 - group["dampening"], []
            starts = momentum != 0 and self.state[parameter].get("momentum_buffer") is None
            if starts:
                self.state[parameter]["momentum_buffer"], added = zeros_like(parameter), 1
            if momentum != 0:
                buffers = [self.state[parameter]["momentum_buffer"]]
            numbers = group["lr"], group["weight_decay"], momentum, added, group["nesterov"]
            for x, g, *rest in elements(parameter, grad, *buffers):
                b = rest[0] if rest else None
                if grad_mode.enabled:
                    sgd_formula(x, g, b, *numbers, detached if starts else None)
                else:
                    sgd_step(parameter.device.xp, x, g, b, *numbers)
        return loss
