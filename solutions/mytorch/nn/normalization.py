"""Normalization: mean 0 and variance 1, over a batch or within a sample, then a scale and a shift that are learned."""

# 12 · Norm, dropout and modes
from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..creation import ones, tensor, zeros
from ..settings import int64
from ..tensor import Tensor
from .module import Module
from .parameter import Parameter


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
    """Normalize each channel of (N, C, ...): (input - mean) / √(var + eps) · weight + bias.

    In training, mean and variance are the batch's, the variance with correction 0. The running
    statistics, if there are any, move towards the batch's: `update(running, new, momentum)`. There the
    new variance has correction 1. `batch_statistics(input)` gives all three.
    In evaluation the running statistics are used, and stay as they are.
    Weight and bias may be None, each by itself. `per_channel(v, input.ndim)` makes (C,) broadcast along
    the channels.

    Raises:
        ValueError, RuntimeError: the arguments don't fit together (by `check_channels`, which gets all
            but the last two).

    Source: Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167
    """
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
    return result if bias is None else result + per_channel(bias, input.ndim)


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


def check_channels(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
) -> None:
    """Refuse what a batch can't be normalized with.

    Raises:
        ValueError: in training there is one value per channel, whose variance is 0; or only one of the two
            statistics is given.
        RuntimeError: a statistic, weight or bias is for another number of channels; or statistics are
            needed and missing.
    """
    if training and input.numel() == input.shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, each in named.items():
        if each is not None and each.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {each.numel()}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if running_mean is None and not training:
        raise RuntimeError("running_mean must be defined in evaluation mode")


def layer_norm(
    input: Tensor,
    normalized_shape: tuple[int, ...] | list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each sample over its last dimensions: (input - mean) / √(var + eps) · weight + bias.

    `normalized_shape` is the shape of these dimensions. Weight and bias have it too; each may be None.
    The variance has correction 0. Training and evaluation are the same.

    Raises:
        RuntimeError: the input doesn't end with these dimensions (by
            `check_ending(input, normalized_shape)`).

    Source: Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450
    """
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def check_ending(input: Tensor, normalized_shape: tuple[int, ...] | list[int]) -> None:
    """Refuse an input that doesn't end with the dimensions that are to be normalized.

    Raises:
        RuntimeError: it doesn't.
    """
    size = list(normalized_shape)
    if list(input.shape[input.ndim - len(size) :]) != size:
        wanted = "".join(f", {each}" for each in size)
        raise RuntimeError(
            f"Given normalized_shape={size}, expected input with shape [*{wanted}], but got input of size"
            f"{list(input.shape)}"
        )


class BatchNorm(Module):
    """What batch norms share: weight and bias, the running statistics, and the choice between batch and running.

    `dims` lists how many dimensions an input may have.
    """

    dims: tuple[int, ...]

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
        return batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            0.0 if momentum is None else momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(BatchNorm):
    """Batch normalization of (N, C) or (N, C, L)."""

    dims = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalization of (N, C, H, W)."""

    dims = (4,)


class LayerNorm(Module):
    """Layer normalization over the last dimensions; one number means the last one alone."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        shape, has_bias = self.normalized_shape, elementwise_affine and bias
        self.register_parameter("weight", Parameter(ones(shape)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros(shape)) if has_bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )
