"""Muon: momentum whose matrix of steps is made orthogonal."""

from __future__ import annotations

import math
from typing import Any

from minitorch import Tensor, no_grad
from minitorch.optim.optimizer import Closure, Optimizer, Parameters
from minitorch.optim.update import check_at_least, check_one_element, stated, zeros_like


class Muon(Optimizer):
    """x ← x − η · O(u), u = b, or with `nesterov` g + momentum · (b − g), where b ← momentum · b + (1 − momentum) · g.

    O(u) has u's singular vectors and singular values near 1 (`orthogonalized`). η is lr · √max(1, rows / columns), with
    `adjust_lr_fn="match_rms_adamw"` lr · 0.2 · √max(rows, columns). First x shrinks by lr · weight_decay. For matrices
    alone: a parameter of other dimensions raises ValueError.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.Muon.html; Keller Jordan 2024,
    https://kellerjordan.github.io/posts/muon/; Liu et al. 2025, arXiv:2502.16982
    """

    __module__ = "minitorch.optim"

    def __init__(
        self,
        params: Parameters,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_one_element(lr)
        for words, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            check_at_least(0.0, value, f"{words} should be >= 0 but is: ")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        options = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        super().__init__(params, stated(locals(), options))
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.size()}"
                    )

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        loss = self._evaluate(closure)
        for group, parameter, grad in self._gradients():
            if parameter.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            state = self.state[parameter]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = zeros_like(grad)
            lr, momentum = group["lr"], group["momentum"]
            buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
            update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            rows, columns = parameter.shape
            if group["adjust_lr_fn"] == "match_rms_adamw":
                ratio = 0.2 * math.sqrt(max(rows, columns))
            else:
                ratio = math.sqrt(max(1, rows / columns))
            parameter.mul_(1 - lr * group["weight_decay"])
            parameter.add_(update, alpha=-lr * ratio)
        return loss


def orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Takes each singular value s of the matrix, of norm 1, to as + bs³ + cs⁵, `steps` times over, in bfloat16.

    The polynomial rises steeply at 0: after a few times all values are between about 0.5 and 1.5. Raises ValueError
    for 100 steps or more, and unless there are three coefficients.
    Source: the iteration of Newton and Schulz, https://kellerjordan.github.io/posts/muon/
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x  # the smaller product of x with itself
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = x.addmm(gram.addmm(gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
