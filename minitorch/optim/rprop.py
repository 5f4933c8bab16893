"""Resilient backpropagation: only the signs of the gradient count."""

from __future__ import annotations

from typing import Any

from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import blocks, check_options, constant, counted, functions_for, scalar, stated, zeros_like


class Rprop(Optimizer):
    """x ← x − s · sign(g), where each coordinate's s grows by etas[1] while the sign of g stays, within `step_sizes`.

    When the sign flips, s shrinks by etas[0] and the coordinate rests for a step.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.Rprop.html; Riedmiller and Braun 1993
    """

    _rate_type = "own"

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, stated(locals(), "lr etas step_sizes foreach maximize differentiable capturable"))

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = self.state[parameter]
            if not state:
                lr = constant(group["lr"])
                state["step"] = scalar(group, parameter, 0)
                state["prev"] = zeros_like(parameter)
                state["step_size"] = zeros_like(parameter, complex(lr, lr) if parameter.is_complex() else lr)
            counted(group, state)
            xp, (shrink, grow), (smallest, largest) = functions_for(parameter), group["etas"], group["step_sizes"]
            for x, g, before, s in blocks(parameter, grad, state["prev"], state["step_size"]):
                agreement = g * before
                flipped = agreement < 0
                factor = xp.ones_like(s)  # of its type, to which the etas are rounded
                factor[...] = xp.where(flipped, factor * shrink, xp.where(agreement > 0, factor * grow, factor))
                s *= factor
                xp.clip(s, smallest, largest, out=s)
                before[...] = xp.where(flipped, 0, g)
                x -= xp.sign(before) * s
        return loss
