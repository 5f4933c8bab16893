"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_fused, check_one_element, detached, stated, zeros_like


class SGD(Optimizer):
    """x ← x − lr · g; with momentum x ← x − lr · b, where b ← momentum · b + (1 − dampening) · g starts as the first g.

    `weight_decay` adds weight_decay · x to g; `nesterov` moves by g + momentum · b; `maximize` goes uphill.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.SGD.html; Sutskever et al. 2013
    """

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
            lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
            if momentum == 0:
                for x, g in blocks(parameter, grad):
                    x -= lr * (g + decay * x if decay else g)
                continue
            state, added = self.state[parameter], 1 - group["dampening"]
            starts = state.get("momentum_buffer") is None
            if starts:
                state["momentum_buffer"], added = zeros_like(parameter), 1
            for x, g, b in blocks(parameter, grad, state["momentum_buffer"]):
                if decay:
                    g = g + decay * x
                b *= momentum
                b += detached(g) if starts else g if added == 1 else added * g
                x -= lr * (g + momentum * b if group["nesterov"] else b)
        return loss
