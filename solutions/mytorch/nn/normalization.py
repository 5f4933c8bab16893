"""Normalization: mean 0 and variance 1, over a batch or within a sample, then a scale and a shift that are learned."""

# 12 · Norm, dropout and modes
from __future__ import annotations

from typing import Any

import numpy as np

from .. import Tensor, float32, int64, no_grad, ones, tensor, zeros
from ..dispatch import composite
from .module import Module
from .parameter import Parameter


@composite
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of (N, C, ...): (input - mean) / √(var + eps) · weight + bias."""
    check_channels(input, running_mean, running_var, weight, bias, training)
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None and running_var is not None:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    else:
        assert running_mean is not None and running_var is not None  # or `check_channels` would have raised
        mean, var = running_mean, running_var
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    if bias is not None:
        result = result + per_channel(bias, input.ndim)
    return result.to(input.dtype)


def batch_statistics(input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each channel of (N, C, ...): the mean, the variance with correction 0, and the one with correction 1."""
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims, correction=0), input.detach().var(dims)


def per_channel(v: Tensor, ndim: int) -> Tensor:
    """(C,) as (C, 1, ...): it broadcasts along dimension 1 of what has `ndim` dimensions."""
    return v.reshape(-1, *(1,) * (ndim - 2))


def update(running: Tensor, new: Tensor, momentum: float) -> None:
    """Write running · (1 - momentum) + new · momentum into `running`. Nothing is recorded."""
    with no_grad():
        running.copy_(running * (1 - momentum) + new.detach() * momentum)


def check_channels(input: Tensor, *state: Any) -> None:
    """Refuse what a batch can't be normalized with; `state` is what `batch_norm` takes next."""
    mean, var, _, _, training = state
    if training and input.numel() == input.shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    for name, each in zip(("running_mean", "running_var", "weight", "bias"), state, strict=False):
        if each is not None and each.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {each.numel()}")
    if (mean is None) != (var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if mean is None and not training:
        raise RuntimeError("running_mean must be defined in evaluation mode")


@composite
def layer_norm(
    input: Tensor,
    normalized_shape: tuple[int, ...] | list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each sample over its last dimensions: (input - mean) / √(var + eps) · weight + bias."""
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.to(input.dtype)


@composite
def rms_norm(
    input: Tensor, normalized_shape: tuple[int, ...] | list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide each sample by its root mean square over the last dimensions: input / √(mean(input²) + eps) · weight."""
    check_ending(input, normalized_shape)
    wide = input.to(float32) if input.dtype.itemsize == 2 else input  # squares overflow float16 at 256
    square = (wide * wide).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = wide * (square + (float(np.finfo(wide.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return (result if weight is None else result * weight).to(input.dtype)


def check_ending(input: Tensor, normalized_shape: tuple[int, ...] | list[int]) -> None:
    """Refuse an input that doesn't end with the dimensions that are to be normalized."""
    size, found = list(normalized_shape), list(input.shape)
    if found[len(found) - len(size) :] != size:
        wanted = f"expected input with shape [*{''.join(f', {each}' for each in size)}]"
        raise RuntimeError(f"Given normalized_shape={size}, {wanted}, but got input of size{found}")


class BatchNorm(Module):
    """What batch norms share: weight and bias, the running statistics, and the choice between batch and running."""

    dims: tuple[int, ...]  # how many dimensions an input may have
    _shown = ("eps", "momentum", "affine", "bias", "track_running_stats")

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
        tracks = track_running_stats
        self.register_buffer("running_mean", zeros(num_features) if tracks else None)
        self.register_buffer("running_var", ones(num_features) if tracks else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracks else None)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize. A momentum of None means the average over all batches so far."""
        if input.ndim not in self.dims:
            expected = " or ".join(f"{each}D" for each in self.dims)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")
        momentum = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            momentum = 1 / self.num_batches_tracked.item() if momentum is None else momentum
        state = self.running_mean, self.running_var, self.weight, self.bias
        return batch_norm(input, *state, self.training or self.running_mean is None, momentum or 0.0, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, {super().extra_repr()}"


class BatchNorm1d(BatchNorm):
    """Batch normalization of (N, C) or (N, C, L)."""

    dims = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalization of (N, C, H, W)."""

    dims = (4,)


class LayerNorm(Module):
    """Layer normalization over the last dimensions; one number means the last one alone."""

    _shown: tuple[str, ...] = ("eps", "elementwise_affine", "bias")

    def __init__(
        self, normalized_shape: Any, eps: float | None = 1e-5, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", Parameter(ones(self.normalized_shape)) if elementwise_affine else None)
        has_bias = elementwise_affine and bias
        self.register_parameter("bias", Parameter(zeros(self.normalized_shape)) if has_bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, {super().extra_repr()}"


class RMSNorm(LayerNorm):
    """Division by the root mean square over the last dimensions, and a weight: a layer norm without mean and bias."""

    _shown = ("eps", "elementwise_affine")

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        return rms_norm(input, self.normalized_shape, self.weight, self.eps)
