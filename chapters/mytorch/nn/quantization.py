"""Weights in 8 bits: integers and a scale; and what lets training get used to them."""

# 22b · Where the memory goes
from __future__ import annotations

from typing import Any

from .. import Tensor, int8
from ..autograd import Function
from .linear import Linear, linear
from .module import Module


def quantize(x: Tensor, dim: int | None = -1) -> tuple[Tensor, Tensor]:
    """Integers q from -127 to 127, and a scale for each row (with `dim=None`, one): `x` is about q * scale."""
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale  # in 16 bits, 127 may have become 128


class Int8Linear(Module):
    """A linear layer for inference, whose weight takes 8 bits a number and a scale for each row."""

    def __init__(self, layer: Linear) -> None:
        super().__init__()
        for name, each in zip(("weight", "scale"), quantize(layer.weight.detach()), strict=True):
            self.register_buffer(name, each)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight * self.scale, self.bias)


class FakeQuantize(Function):
    """Rounding whose backward passes the gradient straight through, but not where a number was clamped."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float, zero_point: int, low: int, high: int) -> Tensor:
        q = (x / scale).round() + zero_point
        ctx.save_for_backward((q >= low) & (q <= high))
        return (q.clamp(low, high) - zero_point) * scale

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.saved_tensors[0], None, None, None, None


def fake_quantize(x: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Any:
    """The numbers that integers between two limits would give back, in floating point."""
    return FakeQuantize.apply(x, scale, zero_point, quant_min, quant_max)
