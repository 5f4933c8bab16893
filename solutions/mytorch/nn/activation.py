"""Activations: what makes a stack of layers more than one layer, and softmax, which makes probabilities of scores."""

# 10 · Activations and initialization
from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.recording import derivative
from ..dispatch import composite, operation
from ..pointwise import pointwise, pointwise_float, sigmoid, tanh, where
from ..settings import FROM_NUMPY, TYPE_NAMES
from ..strides import normalize_dims
from ..tensor import Tensor
from ..views import in_place
from .module import Module

relu = pointwise(lambda x: np.maximum(x, 0), "relu")
derivative("relu", x=lambda g, result: g.masked_fill(result <= 0, 0.0))

Tensor.relu_ = relu_ = in_place(relu, "relu_")

leaky_relu = pointwise(lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope), "leaky_relu")
derivative("leaky_relu", x=lambda g, x, negative_slope: where(x > 0, g, g * negative_slope))


def approximate_erf(x: Any) -> Any:
    """The error function, off by at most 1.5e-7 (Abramowitz and Stegun 7.1.26). NumPy has none."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return (np.sign(x) * (1 - series * np.exp(-x * x))).astype(x.dtype)


erf = pointwise_float(approximate_erf, "erf")
derivative("erf", x=lambda g, x: g * (x * x).neg().exp() * (2 / np.pi**0.5))


@composite
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x·Φ(x): each number times the probability that a normal one is smaller. See https://arxiv.org/abs/1606.08415"""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "none":
        return input * (erf(input * 0.5**0.5) + 1) * 0.5
    inner = (input + input**3 * 0.044715) * (2 / np.pi) ** 0.5
    return input * (inner.tanh() + 1) * 0.5


def silu(input: Tensor) -> Tensor:
    """x·σ(x), with the logistic function σ."""
    return input * input.sigmoid()


@operation
def softmax(x: Any, dim: int) -> Any:
    """Positive numbers that sum to 1 along `dim`: exp(x) / Σ exp(x)."""
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / np.sum(e, dims, keepdims=True)


derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(dim, keepdim=True)))


@operation
def log_softmax(x: Any, dim: int) -> Any:
    """log(softmax(x)) without taking the logarithm of a probability: x - max - log Σ exp(x - max)."""
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    x = x - np.max(x, dims, keepdims=True)
    return x - np.log(np.sum(np.exp(x), dims, keepdims=True))


derivative("log_softmax", x=lambda g, result, dim: g - result.exp() * g.sum(dim, keepdim=True))


def check_floats(x: Any, dim: int, name: str) -> None:
    """Refuse integers and booleans, in PyTorch's words."""
    if x.dtype.kind in "biu":
        kernel = f"{name}_lastdim_kernel_impl" if dim in (-1, x.ndim - 1) else f"{name}_kernel_impl"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{TYPE_NAMES[FROM_NUMPY[x.dtype].name]}'")


class ReLU(Module):
    """max(0, x); with `inplace` it overwrites its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return relu_(input) if self.inplace else relu(input)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """x where it is positive, elsewhere x times a small slope."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return leaky_relu(input, self.negative_slope)


class GELU(Module):
    """x·Φ(x), as in GPT and BERT."""

    _shown = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return gelu(input, self.approximate)


class SiLU(Module):
    """x·σ(x)."""

    forward = staticmethod(silu)


class Sigmoid(Module):
    """1 / (1 + exp(-x)): between 0 and 1."""

    forward = staticmethod(sigmoid)


class Tanh(Module):
    """Between -1 and 1."""

    forward = staticmethod(tanh)


class Softmax(Module):
    """Probabilities along `dim`."""

    _shown = ("dim",)

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return softmax(input, self.dim)


class LogSoftmax(Softmax):
    """Logarithms of probabilities along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return log_softmax(input, self.dim)
