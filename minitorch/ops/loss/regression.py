"""Losses of regression, and what all losses share.

Where PyTorch has one node for a loss, it is an op here; the others are written with ops.
Source: https://pytorch.org/docs/stable/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array, Number
from minitorch.arrays.blocks import in_blocks
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import cannot_cast, floating
from minitorch.dispatch.op import KEEP
from minitorch.dispatch.rounding import RoundedOnce
from minitorch.dtypes import SCALAR_TYPES, can_cast, type_name
from minitorch.ops.views.broadcasting import broadcast_tensors
from minitorch.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction that a loss is asked for, also by the two older arguments. Raises ValueError for unknown ones."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """The elements of a loss, a tensor or an array, or their sum or mean; of two-byte arrays in float32, rounded."""
    if reduction == "none":
        return loss
    if not isinstance(loss, Tensor) and loss.dtype.itemsize == 2:
        return reduced(loss.astype("float32"), reduction).astype(loss.dtype)
    if reduction == "sum":
        return loss.sum()
    return loss.mean() if isinstance(loss, Tensor) else loss.sum() / loss.size


def share(grad: Tensor, reduction: str, *tensors: Tensor) -> Tensor:
    """The gradient that each element of a loss gets; or, given the gradient of a sum, that of the reduced loss."""
    return grad / count(*tensors) if reduction == "mean" else grad


def count(*tensors: Tensor) -> int:
    """The number of elements of a loss of these tensors, 1 if there are none."""
    return max(math.prod(shape_of(*(each._array.shape for each in tensors))), 1)


def shape_of(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two broadcast to."""
    length = max(len(a), len(b))
    a, b = (1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def log_sigmoid(x: Tensor) -> Tensor:
    return x.clamp(max=0) - (-x.abs()).exp().log1p()


def in_type_of(tensor: Tensor, loss: Tensor) -> Tensor:
    """The loss in the type of a tensor whose memory PyTorch writes it into. Raises RuntimeError where it can't be."""
    kind = tensor._dtype
    if loss._dtype is kind:
        return loss
    if not can_cast(loss._dtype, kind):
        raise cannot_cast(loss._dtype, kind)
    return loss.to(kind)


def expect_type(kind: str, array: Array | None) -> None:
    """Raises RuntimeError for an array of another type than this, which is given by its name."""
    if array is not None and array.dtype != kind:
        raise RuntimeError(f"expected scalar type {SCALAR_TYPES[kind]} but found {type_name(array)}")


def weighted(loss: Tensor, weight: Tensor | None, reduction: str, norm: bool = False) -> Tensor:
    """A loss times a weight for each element; the mean, with `norm`, is over the weights."""
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction == "mean" and norm:
        return (loss * weight).sum() / weight.sum()
    return reduced(loss * weight, reduction)


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    elementwise=True,
    node="MseLossBackward0",
    derivatives={
        "self": RoundedOnce(
            lambda grad, self, target, reduction: (self - target) * (share(grad, reduction, self, target) * 2)
        ),
        "target": RoundedOnce(
            lambda grad, self, target, reduction: (target - self) * (share(grad, reduction, self, target) * 2)
        ),
    },
)
def squared_error(xp: Any, self: Array, target: Array, reduction: str) -> Array:
    floating(self, "mse_cpu")
    difference = xp.subtract(self, target)
    if reduction == "none":
        return difference * difference
    flat = difference.reshape(-1)
    total = xp.dot(flat, flat)
    return total if reduction == "sum" else total / xp.asarray(flat.size, total.dtype)


def _of_one_size(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, the smaller one expanded; a warning says so."""
    if target._array.shape == input._array.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    return broadcast_tensors(input, target)


@composite(autocast="float32", variants="function", namespace="nn.functional")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input − target)² of tensors of one shape; others are broadcast, with a warning."""
    input, target = _of_one_size(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        return squared_error(input, target, reduction)
    return weighted((input - target) ** 2, weight, reduction, norm=True)


@composite(autocast="float32", variants="function", namespace="nn.functional")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input − target| of tensors of one shape; others are broadcast, with a warning."""
    input, target = _of_one_size(input, target)
    return weighted((input - target).abs(), weight, reduction_of(reduction, size_average, reduce), norm=True)


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    elementwise=True,
    node="SmoothL1LossBackward0",
    derivatives={
        "self": RoundedOnce(
            lambda grad, self, target, reduction, beta: (
                _bend(self - target, beta) * share(grad, reduction, self, target)
            )
        ),
        "target": RoundedOnce(
            lambda grad, self, target, reduction, beta: (
                _bend(target - self, beta) * share(grad, reduction, self, target)
            )
        ),
    },
)
def smooth_absolute_error(xp: Any, self: Array, target: Array, reduction: str, beta: float) -> Array:
    floating(self, "smooth_l1_cpu")
    return reduced(_bent(xp, self, target, self.dtype.type(beta)), reduction)


@in_blocks
def _bent(xp: Any, self: Array, target: Array, beta: Number) -> Array:
    distance, half = xp.abs(self - target), self.dtype.type(0.5)
    return xp.where(distance < beta, half * distance * distance / beta, distance - half * beta)


def _bend(difference: Tensor, beta: float) -> Tensor:
    return (difference / beta).where(difference.abs() < beta, difference.sign())


@composite(autocast="float32", variants="function", namespace="nn.functional")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d²/2β where d = |input − target| < β, d − β/2 elsewhere, of tensors of one shape.

    Raises RuntimeError for a negative β. Girshick 2015, https://arxiv.org/abs/1504.08083
    """
    input, target = _of_one_size(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced((input - target).abs(), reduction)
    return smooth_absolute_error(input, target, reduction, beta)


def _huber_gradient(grad: Tensor, self: Tensor, target: Tensor, reduction: str, delta: float) -> Tensor:
    difference, grad = self - target, share(grad, reduction, self, target)
    return (difference.sign() * grad * delta).where(difference.abs() >= delta, difference * grad)


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    elementwise=True,
    node="HuberLossBackward0",
    derivatives={
        "self": RoundedOnce(_huber_gradient),
        "target": RoundedOnce(
            lambda grad, self, target, reduction, delta: _huber_gradient(grad, target, self, reduction, delta)
        ),
    },
)
def huber_error(xp: Any, self: Array, target: Array, reduction: str, delta: float) -> Array:
    floating(self, "huber_cpu")
    return reduced(_huber(xp, self, target, self.dtype.type(delta)), reduction)


@in_blocks
def _huber(xp: Any, self: Array, target: Array, delta: Number) -> Array:
    distance, half = xp.abs(self - target), self.dtype.type(0.5)
    return xp.where(distance < delta, half * distance * distance, delta * (distance - half * delta))


@composite(autocast="float32", variants="function", namespace="nn.functional")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d²/2 where d = |input − target| < δ, δ (d − δ/2) elsewhere, of tensors of one shape.

    Raises RuntimeError unless δ is positive, TypeError if it is no number. Huber 1964
    """
    input, target = _of_one_size(input, target)
    reduction = reduction_of(reduction)
    if not isinstance(delta, (int, float)):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return in_type_of(input, huber_error(input, target, reduction, delta))
    return weighted(in_type_of(input, huber_error(input, target, "none", delta)), weight, reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """λ − target · log λ for a Poisson distribution of rate λ = exp(input), or input.

    `full` adds Stirling's approximation of log(target!).
    """
    reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@composite(variants="function", namespace="nn.functional")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """½ (log var + (input − target)² / var), with var at least `eps`; `full` adds ½ log 2π.

    `var` has the shape of `input`, or its last dimension is missing or 1, or it is a number.
    Raises ValueError for a negative `var` or one of another shape. Nix and Weigend 1994
    """
    variance: Any = var
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        variance = var * input.new_ones(input.shape)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if variance.shape != input.shape:
        if input.shape[:-1] == variance.shape:
            variance = variance.unsqueeze(-1)
        elif input.dim() != variance.dim() or _differing(variance.shape, input.shape) != [1]:
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    # The bound is no part of the function that is differentiated.
    clamped = variance.clone()
    clamped.data.clamp_(min=eps)
    loss = 0.5 * (clamped.log() + (input - target) ** 2 / clamped)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _differing(sizes: Sequence[int], others: Sequence[int]) -> list[int]:
    return [size for size, other in zip(sizes, others, strict=True) if size != other]
