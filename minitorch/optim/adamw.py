"""Adam with a weight decay that the adaptive step size leaves alone."""

from __future__ import annotations

from typing import Any

from minitorch.optim.adam import Adam
from minitorch.optim.optimizer import Parameters
from minitorch.optim.update import stated


class AdamW(Adam):
    """Adam with x ← x − lr · weight_decay · x instead of a term of the gradient.

    Source: https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html;
    Loshchilov and Hutter 2019, arXiv:1711.05101
    """

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        names = "params lr betas eps weight_decay amsgrad foreach maximize capturable differentiable fused"
        super().__init__(**stated(locals(), names), decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
