"""Linear and bilinear maps."""

# 09 · Modules and parameters
from __future__ import annotations

from typing import Any

from ..creation import empty
from ..dispatch import composite
from ..reduction import matmul
from ..tensor import Tensor
from .init import draw
from .module import Module
from .parameter import Parameter


@composite
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute x Wᵀ + b on the last dimension: (..., in) to (..., out). The weight has shape (out, in)."""
    product = matmul(input, weight.T)
    return product if bias is None else product + bias


@composite
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute x₁ᵀ Wₖ x₂ + bₖ for each output k, on the last dimensions: (..., in1) and (..., in2) to (..., out)."""
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight), columns).squeeze((-2, -1))
    return products if bias is None else products + bias


class Linear(Module):
    """y = x Aᵀ + b, where x is (..., in_features). Weight and bias begin uniform in ±1 / √in_features."""

    _shown = ("in_features", "out_features", "bias")

    def __init__(self, in_features: int, out_features: int, bias: bool = True, **where: Any) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, **where))
        self.register_parameter("bias", Parameter(empty(out_features, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias again. Both stay the same objects."""
        draw(self.parameters(), self.in_features)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


class Bilinear(Module):
    """yₖ = x₁ᵀ Wₖ x₂ + bₖ. Weight and bias begin uniform in ±1 / √in1_features."""

    _shown = ("in1_features", "in2_features", "out_features", "bias")

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, **where: Any
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, **where))
        self.register_parameter("bias", Parameter(empty(out_features, **where)) if bias else None)
        draw(self.parameters(), in1_features)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)


class Identity(Module):
    """Gives back what it is given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Flatten(Module):
    """The dimensions from `start_dim` to `end_dim` as one; by default all but that of the batch."""

    _shown = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)
