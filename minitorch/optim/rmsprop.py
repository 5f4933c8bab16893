"""RMSprop: steps divided by the root of a running mean of the squared gradient."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, counted, functions_for, started, stated


class RMSprop(Optimizer):
    """x ← x − lr · g / (√v + eps), where v ← alpha · v + (1 − alpha) · g².

    `centered` subtracts from v the square of the running mean of g. With momentum, x ← x − lr · b, where
    b ← momentum · b + g / (√v + eps).
    Source: https://pytorch.org/docs/stable/generated/torch.optim.RMSprop.html; Tieleman and Hinton 2012; Graves 2013
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        options = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        super().__init__(params, stated(locals(), options))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            momentum, centered = group["momentum"], group["centered"]
            more = [name for name, wanted in (("momentum_buffer", momentum > 0), ("grad_avg", centered)) if wanted]
            state = started(self.state[parameter], group, parameter, "square_avg", *more)
            counted(group, state)
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, alpha = group["weight_decay"], group["alpha"]
            square = state["square_avg"]
            # Stand-ins where an option is off, never touched.
            buffer = state["momentum_buffer"] if momentum > 0 else square
            mean = state["grad_avg"] if centered else square
            for x, g, v, b, m in blocks(parameter, grad, square, buffer, mean):
                if decay:
                    g = g + decay * x
                v *= alpha
                v += (1 - alpha) * (g * g)
                if centered:
                    m += (1 - alpha) * (g - m)
                root = xp.sqrt(v - m * m if centered else v) + eps
                if momentum > 0:
                    b *= momentum
                    b += g / root
                    x -= lr * b
                else:
                    x -= lr * (g / root)
        return loss
