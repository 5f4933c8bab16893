"""RMSprop: steps divided by the root of a running mean of the squared gradient."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, counted, functions_for, scalar, zeros_like


class RMSprop(Optimizer):
    """x ← x − lr · g / (√v + eps), where v ← alpha · v + (1 − alpha) · g².

    `centered` subtracts from v the square of the running mean of g. With momentum, x ← x − lr · b and b ← momentum · b
    + g / (√v + eps).
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
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            momentum, centered = group["momentum"], group["centered"]
            state = self.state[parameter]
            if not state:
                state["step"] = scalar(group, parameter, 0)
                state["square_avg"] = zeros_like(parameter)
                if momentum > 0:
                    state["momentum_buffer"] = zeros_like(parameter)
                if centered:
                    state["grad_avg"] = zeros_like(parameter)
            counted(group, parameter, state)
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
