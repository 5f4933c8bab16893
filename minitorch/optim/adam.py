"""Adam: steps of about lr in each coordinate, whatever the gradient's scale."""

# ruff: noqa: I001 - names stand side by side
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.kernels.adam import adam_step
from minitorch.optim.optimizer import Closure, Optimizer, Parameters, _use_grad_for_differentiable
from minitorch.optim.update import (
    check_fused, check_options, counted, elements, functions_for, started, stated, to_scalar,
)  # fmt: skip
from minitorch.tensor import Tensor


def adam_formula(
    xp: Any,
    x: Any,
    g: Any,
    m: Any,
    v: Any,
    top: Any,
    betas: tuple[Any, Any],
    size: Any,
    scale: Any,
    eps: Any,
    decay: Any,
    shrink: Any,
    amsgrad: bool,
) -> None:
    """The step with size = lr / (1 − β₁ᵗ) and scale = √(1 − β₂ᵗ), which the paper, too, takes out of m̂ and √v̂.

    It runs on tensors when the step is recorded. On arrays `adam_step`, whose arguments it has, does the same in fewer
    passes over the memory, to the same bit.
    """
    beta1, beta2 = betas
    if shrink is not None:
        x *= shrink
    if decay:
        g = g + decay * x
    m += (1 - beta1) * (g - m)
    v *= beta2
    v += (1 - beta2) * (g * g)
    if amsgrad:
        xp.maximum(top, v, out=top)
    x -= m / (xp.sqrt(top) + eps * scale) * (size * scale)


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
        betas = to_scalar(betas[0]), to_scalar(betas[1])
        options = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
        )
        super().__init__(params, stated(locals(), options))
        check_fused(self.defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            state = self.state[parameter]
            if not state:
                largest = ["max_exp_avg_sq"] if group["amsgrad"] else []
                started(state, group, parameter, "exp_avg", "exp_avg_sq", *largest)
            xp, lr, eps = functions_for(parameter), group["lr"], group["eps"]
            decay, (beta1, beta2) = group["weight_decay"], group["betas"]
            step: Any = counted(group, state)
            if grad_mode.enabled:
                step = state["step"].clone()  # of float32, in which PyTorch then corrects the bias
            size = lr / (1 - beta1**step)
            scale = (1 - beta2**step) ** 0.5
            decoupled = group["decoupled_weight_decay"]
            top = state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"]
            shrink = 1 - lr * decay if decay and decoupled else None
            update: Callable[..., None] = adam_formula if grad_mode.enabled else adam_step
            for arrays in elements(parameter, grad, state["exp_avg"], state["exp_avg_sq"], top):
                numbers = (beta1, beta2), size, scale, eps, 0 if decoupled else decay, shrink, group["amsgrad"]
                update(xp, *arrays, *numbers)
        return loss
