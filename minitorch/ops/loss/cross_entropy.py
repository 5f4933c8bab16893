"""Losses of classifiers: negative log-likelihood, cross-entropy and the Kullback-Leibler divergence.

Source: https://pytorch.org/docs/stable/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.batched import Batched
from minitorch.dispatch.declaration import composite, declare, flat
from minitorch.dispatch.errors import floating
from minitorch.dispatch.op import KEEP
from minitorch.dtypes import FROM_NUMPY, int64, type_name, uint8
from minitorch.ops.loss.regression import expect_type, reduced, reduction_of
from minitorch.ops.pointwise.division import over_number
from minitorch.tensor import Tensor


def _class_dim(array: Array) -> int:
    return 0 if array.ndim == 1 else 1


def _picked(xp: Any, self: Array, target: Array) -> Array:
    """self[n, target[n, …], …]: of every element, the class that its target names."""
    if self.ndim == 1:
        return self[target]
    if self.ndim == 2:
        return self[xp.arange(len(target)), target]
    return xp.take_along_axis(self, target[:, None], 1)[:, 0]


def _targets(xp: Any, self: Array, target: Array, ignore_index: int) -> tuple[Array, Array | None]:
    """The targets with 0 for those to ignore, and which these are; None where there are none."""
    classes = self.shape[_class_dim(self)]
    ignored = None
    unsigned = target.view(f"u{target.itemsize}")  # to which negative numbers are large ones
    if target.size and (0 <= ignore_index < classes or unsigned.max() >= classes):
        ignored = target == ignore_index
        target = xp.where(ignored, 0, target)
        for extreme in (int(target.min()), int(target.max())):
            if not 0 <= extreme < classes:
                raise IndexError(f"Target {extreme} is out of bounds.")
    return target, ignored


def _weights(xp: Any, self: Array, target: Array, ignored: Array | None, weight: Array | None) -> Array | None:
    """How much each element counts: as its class does, 0 where it is ignored. None where all count 1."""
    if weight is None:
        return None if ignored is None else (~ignored).astype(self.dtype)
    each = weight[target]
    return each if ignored is None else xp.where(ignored, weight.dtype.type(0), each)


def _check_classes(self: Array, target: Array, weight: Array | None) -> None:
    if not self.ndim:
        raise ValueError(f"Expected 1 or more dimensions (got {self.ndim})")
    targets = target.shape[0] if target.ndim else 1
    if self.ndim != 1 and self.shape[0] != targets:
        raise ValueError(f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({targets}).")
    if self.ndim <= 2:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    expected = [self.shape[0], *self.shape[2:]]
    if self.ndim > 2 and list(target.shape) != expected:
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    if FROM_NUMPY[target.dtype] not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {type_name(target)}")
    classes = self.shape[_class_dim(self)]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


@declare(
    promotion=KEEP,
    promoted=("self", "weight"),
    upcast=True,
    variants="",
    row_major=True,
    node=lambda self, *_: "NllLossBackward0" if self._array.ndim <= 2 else "NllLoss2DBackward0",
    derivatives={
        "self": lambda grad, self, target, weight, ignore_index, reduction: negative_log_likelihood_backward(
            grad, self, target, weight, ignore_index, reduction
        )
    },
)
def negative_log_likelihood(
    xp: Any, self: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    floating(self, "nll_loss_out_frame" if self.ndim <= 2 else "nll_loss2d_forward_out_frame")
    if self.ndim == 1:
        target = target.reshape(())
    target, ignored = _targets(xp, self, target, ignore_index)
    weights = _weights(xp, self, target, ignored, weight)
    loss = -_picked(xp, self, target)
    if weights is not None:
        loss = loss * weights
    if ignored is not None:
        loss = xp.where(ignored, self.dtype.type(0), loss)  # also where the product was 0 · ∞
    if reduction == "mean" and weights is not None:
        return loss.sum() / weights.sum()
    return reduced(loss, reduction)


@declare(
    promotion=KEEP,
    promoted=("grad_output", "self", "weight"),
    upcast=True,
    variants="",
    node=lambda grad_output, self, *_: (
        "NllLossBackwardBackward0" if self._array.ndim <= 2 else "NllLoss2DBackwardBackward0"
    ),
    derivatives={
        "grad_output": lambda grad, target, weight, ignore_index, reduction: negative_log_likelihood(
            grad, target, weight, ignore_index, reduction
        ),
        "self": flat,
    },
)
def negative_log_likelihood_backward(
    xp: Any, grad_output: Array, self: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    """The gradient of the input: − grad · weight at the target's class, 0 elsewhere."""
    target, ignored = _targets(xp, self, target, ignore_index)
    weights = _weights(xp, self, target, ignored, weight)
    value = -grad_output
    if weights is not None:
        scale = weights / weights.sum() if reduction == "mean" else weights
        value = value * xp.where(weights == 0, weights, scale)  # all may be ignored: no 0 / 0 then
    elif reduction == "mean":
        value = value / value.dtype.type(target.size)
    result = xp.zeros(self.shape, self.dtype)
    if self.ndim == 1:
        result[target] = value
    elif self.ndim == 2:
        result[xp.arange(len(target)), target] = value
    else:
        value = xp.broadcast_to(value, target.shape)[:, None]
        index = list(xp.ogrid[tuple(slice(size) for size in target.shape)])
        result[(index[0], target, *index[1:])] = value[:, 0]
    return result


@composite(autocast="float32", variants="function", namespace="nn.functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """− weight[target] · input[target] for log-probabilities (N, C, …) and int64 class indices (N, …).

    Or (C,) and a 0-d target; `weight` (C,). "mean" divides by the sum of the weights used; targets equal to
    `ignore_index` count 0. Raises ValueError for another batch size, RuntimeError for another shape, dtype or number of
    weights, IndexError for a class out of range.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    weights = None if weight is None else weight._array
    _check_classes(input._array, target._array, weights)
    if input._dtype.is_floating_point:
        expect_type(input._dtype.name, weights)
    if input.dim() in (1, 2, 4):
        return negative_log_likelihood(input, target, weight, ignore_index, reduction)
    images, classes = (input.shape[0], 1, math.prod(input.shape[2:])), input.shape[1]
    plane = input.contiguous().view(images[0], classes, *images[1:]), target.contiguous().view(images)
    loss: Tensor = negative_log_likelihood(*plane, weight, ignore_index, reduction)
    return loss.view(target.shape) if reduction == "none" else loss


@composite(autocast="float32", named="cross_entropy_loss", variants="function", namespace="nn.functional")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """− log softmax(input)[target] for logits (N, C, …) and class indices (N, …).

    Or (C,) and a 0-d target. A floating target of the input's shape holds class probabilities. `weight` (C,) counts by
    class, and "mean" divides by the sum of the weights used; indices equal to `ignore_index` count 0; `label_smoothing`
    s mixes the target with s/C for every class. Raises ValueError for another batch size, RuntimeError for other shapes
    or dtypes and for an s outside [0, 1], IndexError for a class out of range.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    of_probabilities = target._array.shape == input._array.shape
    if of_probabilities:
        _check_probabilities(target, ignore_index)
    class_dim = _class_dim(input._array)
    log_probabilities = input.log_softmax(class_dim)
    if of_probabilities:
        return _cross_entropy_of_probabilities(log_probabilities, target, weight, reduction, label_smoothing)
    loss: Tensor = nll_loss(log_probabilities, target, weight, None, ignore_index, None, reduction)
    if label_smoothing <= 0:
        return loss
    spread = _over_all_classes(log_probabilities, target, weight, ignore_index, reduction)
    return loss * (1 - label_smoothing) + spread * (label_smoothing / input.shape[class_dim])


def _over_all_classes(
    log_probabilities: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The loss of targets that name all classes alike: minus the sum of all log-probabilities."""
    class_dim = _class_dim(log_probabilities._array)
    if weight is not None:
        shape = [-1 if d == class_dim else 1 for d in range(log_probabilities.dim())]
        log_probabilities = log_probabilities * weight.view(shape)
    ignored = target.eq(ignore_index)
    loss = (-log_probabilities.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if isinstance(target, Batched):  # of whose examples each may have another number of targets
        shares = ~ignored if weight is None else weight.take(target.clamp_min(0)) * ~ignored
        return loss.sum() / shares.sum()
    kept = target.reshape(-1) if target.is_meta else target.masked_select(~ignored)
    return loss.sum() / (kept.numel() if weight is None else weight.gather(0, kept).sum())


def _check_probabilities(target: Tensor, ignore_index: int) -> None:
    if not target.is_floating_point():
        name = type_name(target._array)
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {name}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")


def _cross_entropy_of_probabilities(
    log_probabilities: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    class_dim = _class_dim(target._array)
    classes = target.shape[class_dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    product = log_probabilities * target
    if weight is not None:
        product = product * weight.view([-1 if d == class_dim else 1 for d in range(target.dim())])
    if reduction == "none":
        return -product.sum(class_dim)
    total = -product.sum()
    return over_number(total, target.numel() // classes) if reduction == "mean" and classes else total


@composite(autocast="float32", variants="function", namespace="nn.functional")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target · (log target − input) for log-probabilities as input; "batchmean" divides the sum by the batch size.

    Both have one shape, or broadcast; `log_target` says that the target is given by its logarithm.
    Raises RuntimeError for integers and complex numbers.
    """
    batchmean = reduction == "batchmean"
    reduction = "sum" if batchmean else reduction_of(reduction, size_average, reduce)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
            "behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    for each in (input, target):
        if not each.is_floating_point():
            raise RuntimeError(f"kl_div: {'Complex' if each.is_complex() else 'Integral'} inputs not supported.")
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    result = reduced(loss, reduction)
    return result / input.shape[0] if batchmean and input.dim() else result
