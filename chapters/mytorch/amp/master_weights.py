"""Master weights: float32 copies of 16-bit weights, in which small steps add up."""

# 22 · Mixed precision
from __future__ import annotations

from collections.abc import Iterable

from .. import Tensor, float32, no_grad
from ..optim import Optimizer


class MasterWeights:
    """Float32 copies of a model's 16-bit weights. The optimizer is made of the copies; the model gets them rounded."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.weights = list(parameters)
        self.copies = [each.detach().to(float32, copy=True).requires_grad_() for each in self.weights]

    def take_gradients(self) -> None:
        """Each copy gets the gradient of its weight, in float32."""
        for copy, weight in zip(self.copies, self.weights, strict=True):
            copy.grad = None if weight.grad is None else weight.grad.float()

    @no_grad()
    def give_weights(self) -> None:
        """Each weight gets the value of its copy, rounded."""
        for copy, weight in zip(self.copies, self.weights, strict=True):
            weight.copy_(copy)

    def step(self, optimizer: Optimizer) -> None:
        """A step of an optimizer that was made of the copies."""
        self.take_gradients()
        optimizer.step()
        self.give_weights()
