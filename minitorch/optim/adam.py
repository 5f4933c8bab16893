"""Adam: steps of about lr in each coordinate, whatever the gradient's scale."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import (
    blocks,
    check_fused,
    check_options,
    counted,
    functions_for,
    scalar,
    to_scalar,
    zeros_like,
)
from minitorch.tensor import Tensor


class Adam(Optimizer):
    """x ← x − lr · m̂ / (√v̂ + eps), where m̂ and v̂ are running means of g and g², freed of their bias towards 0:

    m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ).
    `weight_decay` adds weight_decay · x to g, or with `decoupled_weight_decay` shrinks x by lr · weight_decay itself;
    `amsgrad` divides by the largest v̂ so far.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adam.html; Kingma and Ba 2015, arXiv:1412.6980
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if isinstance(beta, Tensor) and foreach and not capturable:
                raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
        defaults = {
            "lr": lr,
            "betas": tuple(map(to_scalar, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = self.state[parameter]
            if not state:
                state["step"] = scalar(group, parameter, 0)
                state["exp_avg"] = zeros_like(parameter)
                state["exp_avg_sq"] = zeros_like(parameter)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = zeros_like(parameter)
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, (beta1, beta2) = group["weight_decay"], group["betas"]
            step: Any = counted(group, parameter, state, xla=not group["foreach"])
            if grad_mode.enabled:
                step = state["step"].clone()  # of float32, in which PyTorch then corrects the bias
            size = lr / (1 - beta1**step)
            scale = (1 - beta2**step) ** 0.5
            decoupled = group["decoupled_weight_decay"]
            largest = state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"]
            for x, g, m, v, top in blocks(parameter, grad, state["exp_avg"], state["exp_avg_sq"], largest):
                if decay and decoupled:
                    x *= 1 - lr * decay
                elif decay:
                    g = g + decay * x
                change = g - m
                change *= 1 - beta1
                m += change
                v *= beta2
                square = xp.multiply(g, g, out=change)  # in the same memory: it is in the cache
                square *= 1 - beta2
                v += square
                if group["amsgrad"]:
                    xp.maximum(top, v, out=top)
                # size · m / (√v / scale + eps), with a pass over the memory less
                divisor = xp.sqrt(top, out=square)
                divisor += eps * scale
                update = xp.divide(m, divisor, out=divisor)
                update *= size * scale
                x -= update
        return loss
