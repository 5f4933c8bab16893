"""Dropout: in training, numbers are zeroed at random, and the others grow so that the mean stays."""

# 12 · Norm, dropout and modes
from __future__ import annotations

from typing import Any

from .. import Tensor, copy_
from ..creation import new
from ..random import bernoulli
from .module import Module


def dropout_noise(x: Tensor, p: float) -> Tensor:
    """Random numbers of the shape, type and device of `x`: 0 with probability p, else 1 / (1 - p)."""
    return new((bernoulli(1 - p, x.shape) / (1 - p)).astype(x.dtype.numpy), x.device)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero each number with probability p and divide the others by 1 - p."""
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    noise: Any = 0.0 if p == 1 else dropout_noise(input, p)
    result: Tensor = input * noise
    return copy_(input, result) if inplace else result


class Dropout(Module):
    """Dropout in training, the identity in evaluation."""

    _shown = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return dropout(input, self.p, self.training, self.inplace)
