"""Affine maps. Source: https://pytorch.org/docs/stable/nn.html#linear-layers"""

from __future__ import annotations

import math
from dataclasses import InitVar
from typing import Any

from minitorch import Tensor, empty
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.lazy import LazyLayer
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter


def parameter(shape: Any, present: bool, device: Any, dtype: Any) -> Parameter | None:
    """A parameter that isn't filled yet, or None."""
    return Parameter(empty(shape, device=device, dtype=dtype)) if present else None


class Identity(Module):
    """Returns its input, of any shape; any arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """y = x Wᵀ + b: (…, in_features) → (…, out_features). W and b start uniform in ±1/√in_features."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", parameter(out_features, bias, device, dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights; a = √5 makes Kaiming's bound 1/√in_features."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that MultiheadAttention's repr shows."""


@layer
class Bilinear(Layer):
    """yₖ = x₁ᵀ Wₖ x₂ + bₖ: (…, in1_features) and (…, in2_features) → (…, out_features).

    `weight` (out, in1, in2) and `bias` (out,) start uniform in ±1/√in1_features. Raises RuntimeError for other sizes,
    ValueError unless in1_features is positive.
    """

    in1_features: int
    in2_features: int
    out_features: int
    bias: InitVar[bool] = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        shape = self.out_features, self.in1_features, self.in2_features
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", parameter(self.out_features, bias, device, dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights, uniform in ±1/√in1_features."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyLayer, Linear):
    """A Linear that takes `in_features` from its first input: (…, in_features) → (…, out_features)."""

    cls_to_become = Linear
    size = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, out_features, bias, device, dtype)
        self._forget_shapes()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if not self.in_features:
            self.in_features = input.shape[-1]
