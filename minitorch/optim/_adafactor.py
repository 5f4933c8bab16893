"""Adafactor: Adam without a mean of the gradients, and of the squares only the means of rows and of columns."""

from __future__ import annotations

from typing import Any

from minitorch import Tensor, finfo, no_grad
from minitorch.optim.optimizer import Closure, Optimizer, Parameters
from minitorch.optim.update import Group, check_at_least, check_one_element, counted, scalar, stated, zeros_like


class Adafactor(Optimizer):
    """x ← x − α · u / max(1, rms(u) / d), u = g / √v, where of the last two dimensions v is R · C / mean(R):

    R and C are running means of g² over rows and over columns, with weight t^beta2_decay for the new one; a vector has
    its own v. α is the larger of eps[1] and rms(x), times the smaller of lr and 1/√t. eps[0] bounds √v, by default the
    dtype's eps. `weight_decay` first shrinks x by lr · weight_decay. `foreach` changes no number.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.Adafactor.html; Shazeer and Stern 2018,
    arXiv:1804.04235
    """

    __module__ = "minitorch.optim"

    _rate_type = ""

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_one_element(lr)
        check_at_least(0.0, lr, "Learning rate should be >= 0 but is: ")
        if not 0.0 >= beta2_decay:  # noqa: SIM300 - in PyTorch's order, which words the TypeError
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check_at_least(0.0, eps[0], "epsilon1 should be >= 0 but is: ")
        check_at_least(0.0, eps[1], "epsilon2 should be >= 0 but is: ")
        check_at_least(1.0, d, "Clipping threshold d should be >= 1 but is: ")
        check_at_least(0.0, weight_decay, "weight_decay should be >= 0 but is: ")
        super().__init__(params, stated(locals(), "lr beta2_decay eps d weight_decay foreach maximize"))

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            if parameter.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            state = self.state[parameter] or self._start(group, parameter, grad)
            step = counted(group, state)
            lr, smallest = group["lr"], group["eps"][0]
            if smallest is None:
                smallest = finfo(parameter.dtype).eps
            size = max(group["eps"][1], _root_mean_square(parameter)) * min(lr, 1 / step**0.5)
            if group["weight_decay"] != 0:
                parameter.mul_(1 - lr * group["weight_decay"])
            square = _averaged_square(state, grad, step ** group["beta2_decay"], smallest)
            update = square.clamp_(min=smallest * smallest).rsqrt_().mul_(grad)
            parameter.add_(update, alpha=-size / max(1.0, _root_mean_square(update) / group["d"]))
        return loss

    def _start(self, group: Group, parameter: Tensor, grad: Tensor) -> dict[str, Any]:
        state = self.state[parameter]
        state["step"] = scalar(group, parameter, 0)
        if grad.dim() > 1:
            *leading, rows, columns = grad.shape
            state["row_var"] = grad.new_zeros(*leading, rows, 1)
            state["col_var"] = grad.new_zeros(*leading, 1, columns)
        else:
            state["variance"] = zeros_like(grad)
        return state


def _averaged_square(state: dict[str, Any], grad: Tensor, weight: float, smallest: float) -> Tensor:
    """Takes g² with this weight into the running means, and returns their estimate of it."""
    if grad.dim() < 2:
        return state["variance"].lerp_(grad * grad, weight).clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
    columns.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=smallest))


def _root_mean_square(tensor: Tensor) -> float:
    return tensor.norm(2).item() / tensor.numel() ** 0.5
