"""A linear layer that is adapted by two thin matrices. Source: Hu et al. 2021, "LoRA", arXiv:2106.09685"""

# 21 · Features, transfer and pictures
from __future__ import annotations

import copy
from typing import Any

from .. import Tensor, empty, no_grad, zeros
from .init import draw
from .linear import Linear, linear
from .module import Module
from .parameter import Parameter


class LoRALinear(Module):
    """W x + b + (alpha / r) B A x with a frozen W and b: A (r, in) and B (out, r) are trained, and B begins at 0."""

    def __init__(self, base: Linear, r: int, alpha: float) -> None:
        super().__init__()
        self.base, self.scaling = base.requires_grad_(False), alpha / r
        where: dict[str, Any] = {"dtype": base.weight.dtype, "device": base.weight.device}
        self.lora_A = Parameter(empty(r, base.in_features, **where))
        self.lora_B = Parameter(zeros(base.out_features, r, **where))
        draw([self.lora_A], base.in_features)

    def forward(self, input: Tensor) -> Tensor:
        return self.base(input) + linear(linear(input, self.lora_A), self.lora_B) * self.scaling

    @no_grad()
    def merge(self) -> Linear:
        """An ordinary layer that computes the same. This one stays as it is."""
        merged = copy.deepcopy(self.base).requires_grad_()
        merged.weight += self.lora_B @ self.lora_A * self.scaling
        return merged
