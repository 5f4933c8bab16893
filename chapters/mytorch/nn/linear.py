"""Linear and bilinear maps."""

# 09 · Modules and parameters
from __future__ import annotations

import math
from typing import Any

from ..creation import empty
from ..reduction import matmul
from ..tensor import Tensor
from .init import uniform_
from .module import Module
from .parameter import Parameter


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Aᵀ + b, on the last dimension: (..., in) to (..., out).

    `weight` has shape (out, in), a row for each output; `bias` has shape (out,).
    """
    product = matmul(input, weight.T)
    return product if bias is None else product + bias


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x₁ᵀ Wₖ x₂ + bₖ for each output k, on the last dimensions: (..., in1) and (..., in2) to (..., out).

    `weight` has shape (out, in1, in2): a matrix for each output. `bias` has shape (out,).
    """
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)
    products = matmul(matmul(rows, weight), columns).squeeze((-2, -1))
    return products if bias is None else products + bias


class Linear(Module):
    """y = x Aᵀ + b, where x is (..., in_features). Weight and bias begin uniform in ±1 / √in_features."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.bias: Parameter | None
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """yₖ = x₁ᵀ Wₖ x₂ + bₖ. Weight and bias begin uniform in ±1 / √in1_features."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.bias: Parameter | None
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        for parameter in self.parameters():
            uniform_(parameter, -1 / math.sqrt(in1_features), 1 / math.sqrt(in1_features))

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(..., in1_features) and (..., in2_features) to (..., out_features)."""
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{sizes}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """Gives back what it is given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Flatten(Module):
    """The dimensions from `start_dim` to `end_dim` as one; by default all but that of the batch."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """(N, A, B, ...) to (N, A · B · ...)."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
