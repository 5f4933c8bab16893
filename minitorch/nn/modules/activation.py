"""Activation functions as modules.

Source: https://pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity
"""

from __future__ import annotations

import warnings
from dataclasses import InitVar
from typing import Any

from minitorch import Tensor, full
from minitorch.nn import functional as F
from minitorch.nn.modules.layer import Applied, layer
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.multihead import MultiheadAttention  # noqa: F401  (PyTorch has it here)
from minitorch.nn.parameter import Parameter


class _Activation(Applied):
    """Any shape → the same shape and dtype, unless it says otherwise; `inplace=True` writes into the input."""

    inplace = False

    def extra_repr(self) -> str:
        names = self._arguments if self.shown is None else self.shown.split()
        shown = [f"{name}={getattr(self, name)!r}" for name in names if name != "inplace"]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


@layer
class Threshold(_Activation, function="threshold"):
    """x where x > threshold, `value` elsewhere: any shape → the same."""

    threshold: float
    value: float
    inplace: bool = False


@layer
class ReLU(_Activation):
    """max(0, x)."""

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


@layer
class RReLU(_Activation):
    """x where x ≥ 0, a·x elsewhere, with a drawn from [lower, upper) in training and their mean in evaluation."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


@layer
class Hardtanh(_Activation, function="hardtanh"):
    """x, but at least `min_val` and at most `max_val`."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: InitVar[float | None] = None
    max_value: InitVar[float | None] = None

    def __post_init__(self, min_value: float | None, max_value: float | None) -> None:
        for name, old in (("min_val", min_value), ("max_val", max_value)):
            if old is not None:
                message = f"keyword argument `{name}ue` is deprecated and renamed to `{name}`"
                warnings.warn(message, FutureWarning, stacklevel=3)
                setattr(self, name, old)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh, shown=""):
    """min(max(0, x), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Sigmoid(Applied, function="sigmoid"):
    """1 / (1 + exp(−x)), elementwise: any shape → the same."""


@layer
class Hardsigmoid(Applied, function="hardsigmoid", shown=""):
    """min(max(0, x/6 + 1/2), 1), elementwise: any shape → the same."""

    inplace: bool = False


class Tanh(Applied, function="tanh"):
    """tanh x, elementwise: any shape → the same."""


@layer
class SiLU(_Activation, function="silu"):
    """x · σ(x)."""

    inplace: bool = False


@layer
class Mish(_Activation, function="mish"):
    """x · tanh(log(1 + exp x))."""

    inplace: bool = False


@layer
class Hardswish(Applied, function="hardswish", shown=""):
    """x · min(max(0, x + 3), 6) / 6, elementwise: any shape → the same."""

    inplace: bool = False


@layer
class ELU(_Activation, function="elu"):
    """x where x > 0, α · (exp x − 1) elsewhere."""

    alpha: float = 1.0
    inplace: bool = False


@layer
class CELU(_Activation, function="celu"):
    """x where x > 0, α · (exp(x/α) − 1) elsewhere."""

    alpha: float = 1.0
    inplace: bool = False


@layer
class SELU(_Activation, function="selu"):
    """The ELU whose scale keeps mean 0 and variance 1."""

    inplace: bool = False


@layer
class GLU(_Activation, function="glu"):
    """a · σ(b) for the two halves a and b of the input along `dim`: (…, 2n, …) → (…, n, …).

    Raises RuntimeError for an odd size.
    """

    dim: int = -1


@layer
class GELU(_Activation):
    """x · Φ(x) with Φ the normal distribution, or its approximation by tanh."""

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


@layer
class _Shrink(Applied):
    """Elementwise: any shape → the same shape and dtype; λ is `lambd`."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink, function="hardshrink"):
    """0 where |x| ≤ λ, x elsewhere."""


class Softshrink(_Shrink, function="softshrink"):
    """x moved towards 0 by λ."""


@layer
class LeakyReLU(_Activation, function="leaky_relu"):
    """x where x > 0, negative_slope · x elsewhere."""

    negative_slope: float = 1e-2
    inplace: bool = False


class LogSigmoid(Applied, function="logsigmoid"):
    """log σ(x), elementwise: any shape → the same."""


@layer
class Softplus(_Activation, function="softplus"):
    """log(1 + exp(β x)) / β, and x where β x > threshold."""

    beta: float = 1.0
    threshold: float = 20.0


@layer
class PReLU(_Activation, shown="num_parameters"):
    """x where x ≥ 0, a·x elsewhere: (N, C, …) → the same shape.

    `weight` holds the learned a: shape (num_parameters,), 1 for all or C for one a channel, at first `init` = 0.25.
    Raises RuntimeError for another number of channels. He et al. 2015, https://arxiv.org/abs/1502.01852
    """

    num_parameters: int = 1
    init: float = 0.25
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, device: Any, dtype: Any) -> None:
        self.weight = Parameter(full((self.num_parameters,), float(self.init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Sets the slopes to their first value."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class Softsign(Applied, function="softsign"):
    """x / (1 + |x|), elementwise: any shape → the same."""


class Tanhshrink(Applied, function="tanhshrink"):
    """x − tanh x, elementwise: any shape → the same."""


@layer
class _AlongDim(_Activation):
    """Any shape → the same; each slice along `dim` is normalized. Without `dim` it is guessed, with a warning.
    Raises IndexError for a dimension out of range.
    """

    dim: int | None = None


class Softmin(_AlongDim, function="softmin"):
    """exp(−x) / Σ exp(−x) along `dim`."""


class Softmax(_AlongDim, function="softmax"):
    """exp x / Σ exp x along `dim`."""


class Softmax2d(Module):
    """exp x / Σ exp x over the channels of (N, C, H, W) or (C, H, W), of the same shape.

    Raises ValueError for another number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class LogSoftmax(_AlongDim, function="log_softmax"):
    """log(exp x / Σ exp x) along `dim`."""
