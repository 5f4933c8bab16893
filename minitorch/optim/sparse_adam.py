"""Adam for sparse gradients, of which there are none here."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.optim.optimizer import Closure, Optimizer, Parameters
from minitorch.optim.update import check_one_element, check_options, stated


class SparseAdam(Optimizer):
    """Adam that updates only where a sparse gradient has elements. There are no sparse tensors here (docs/surface.md):

    as in PyTorch, `step` raises RuntimeError for a dense gradient, and complex parameters raise ValueError.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
    """

    _rate_type = ""

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_one_element(lr)
        if not 0.0 < lr:  # noqa: SIM300 - in PyTorch's order, which words the TypeError
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:  # noqa: SIM300
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_options(betas=betas)
        super().__init__(params, stated(locals(), "lr betas eps maximize"))
        complex_params = [
            [number, place]
            for number, group in enumerate(self.param_groups)
            for place, parameter in enumerate(group["params"])
            if parameter.is_complex()
        ]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        if any(True for _ in self._gradients()):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
