"""Losses of classifiers: negative log-likelihood, cross-entropy and their relatives.

Source: https://pytorch.org/docs/stable/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import FROM_NUMPY, int64, type_name, uint8
from minitorch.layout import kept_strides, restrided
from minitorch.ops.declaration import KEEP, composite, declare, flat
from minitorch.ops.errors import floating
from minitorch.ops.loss import (
    expect_type,
    in_type_of,
    log_sigmoid,
    reduced,
    reduction_of,
    shape_of,
    share,
)
from minitorch.ops.scalar_forms import over_number
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


def _targets(
    xp: Any, self: Array, target: Array, weight: Array | None, ignore_index: int
) -> tuple[Array, Array | None]:
    """The targets with 0 for those to ignore, and the weight of each element; None where all weigh 1."""
    classes = self.shape[_class_dim(self)]
    ignored = None
    unsigned = target.view(f"u{target.itemsize}")  # to which negative numbers are large ones
    if target.size and (0 <= ignore_index < classes or unsigned.max() >= classes):
        ignored = target == ignore_index
        target = xp.where(ignored, 0, target)
        for extreme in (int(target.min()), int(target.max())):
            if not 0 <= extreme < classes:
                raise IndexError(f"Target {extreme} is out of bounds.")
    if weight is not None:
        each = weight[target]
        return target, each if ignored is None else xp.where(ignored, weight.dtype.type(0), each)
    return target, None if ignored is None else (~ignored).astype(self.dtype)


def _check_classes(self: Array, target: Array, weight: Array | None) -> None:
    if not self.ndim:
        raise ValueError(f"Expected 1 or more dimensions (got {self.ndim})")
    if self.ndim != 1 and self.shape[0] != (target.shape[0] if target.ndim else 1):
        raise ValueError(
            f"Expected input batch_size ({self.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 1})."
        )
    if self.ndim <= 2:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    expected = [self.shape[0], *self.shape[2:]]
    if self.ndim == 3 and list(target.shape) != expected:
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    if self.ndim > 3 and list(target.shape) != expected:
        if self.ndim == 4 and target.ndim == 3:
            raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
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
        ),
    },
)
def negative_log_likelihood(
    xp: Any, self: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    floating(self, "nll_loss_out_frame" if self.ndim <= 2 else "nll_loss2d_forward_out_frame")
    target, weights = _targets(xp, self, target, weight, ignore_index)
    loss = -_picked(xp, self, target if self.ndim > 1 else target.reshape(()) if target.size == 1 else target)
    if weights is not None:
        loss = loss * weights.reshape(loss.shape)
    if reduction == "mean" and weights is not None:
        return loss.sum() / weights.sum()
    return reduced(loss.reshape(target.shape), reduction)


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
    target, weights = _targets(xp, self, target, weight, ignore_index)
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


@composite(variants="function", namespace="nn.functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """− weight[target] · input[target] for log-probabilities (N, C, …) and class indices (N, …).

    The mean is over the weights. https://pytorch.org/docs/stable/generated/torch.nn.functional.nll_loss.html
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


@composite(variants="function", namespace="nn.functional")
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

    The targets may also be probabilities, of the input's shape.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    class_dim = _class_dim(input._array)
    if target._array.shape == input._array.shape:
        _check_probabilities(target, ignore_index)
        return _cross_entropy_of_probabilities(input.log_softmax(class_dim), target, weight, reduction, label_smoothing)
    log_probabilities = input.log_softmax(class_dim)
    loss: Tensor = nll_loss(log_probabilities, target, weight, None, ignore_index, None, reduction)
    if label_smoothing <= 0:
        return loss
    # The part of the target that is spread over all classes.
    if weight is not None:
        log_probabilities = log_probabilities * weight.view([-1 if d == class_dim else 1 for d in range(input.dim())])
    ignored = target.eq(ignore_index)
    smooth = (-log_probabilities.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction == "sum":
        smooth = smooth.sum()
    elif reduction == "mean":
        kept = target.masked_select(~ignored)
        smooth = smooth.sum() / (kept.numel() if weight is None else weight.gather(0, kept).sum())
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[class_dim])


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
            "weight "
            f"tensor of shape: {list(weight.shape)}"
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


def _of_weighted(gradient: Tensor, weight: Tensor | None, reduction: str, self: Tensor, target: Tensor) -> Tensor:
    """The gradient of a loss in which each element counts by its weight, from that of its elements."""
    return share(gradient if weight is None else gradient * weight, reduction, self, target)


@declare(
    promotion=KEEP,
    variants="",
    elementwise=True,
    node="BinaryCrossEntropyBackward0",
    derivatives={
        "self": lambda grad, self, target, weight, reduction: _of_weighted(
            grad * (self - target) / ((1 - self) * self).clamp(min=1e-12), weight, reduction, self, target
        ),
        "target": lambda grad, self, target, weight, reduction: _of_weighted(
            -self.logit() * grad, weight, reduction, self, target
        ),
    },
)
def binary_cross_entropy_of(xp: Any, self: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    if self.size and not ((self >= 0) & (self <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.size and not ((target >= 0) & (target <= 1)).all():
        raise RuntimeError("all elements of target should be between 0 and 1")
    # PyTorch bounds the logarithms, so that a certain and wrong prediction costs 100 and not infinity.
    loss = (target - 1) * xp.maximum(xp.log1p(-self), -100) - target * xp.maximum(xp.log(self), -100)
    return reduced(_weighed(loss, weight), reduction)


def _weighed(loss: Array, weight: Array | None) -> Array:
    """The elements times their weights, of which there may not be more."""
    if weight is None:
        return loss
    weighed = loss * weight
    if weighed.shape != loss.shape:
        shapes = f"shape {list(loss.shape)} doesn't match the broadcast shape {list(weighed.shape)}"
        raise RuntimeError(f"output with {shapes}")
    return weighed


@composite(variants="function", namespace="nn.functional")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """− weight · (target · log input + (1 − target) · log(1 − input)) for probabilities.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.binary_cross_entropy.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if target._dtype is not input._dtype:
        found, expected = type_name(target._array), type_name(input._array)
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    floating(input._array, "binary_cross_entropy")
    if weight is not None:
        weight = weight.expand(shape_of(target._array.shape, weight._array.shape))
    return in_type_of(input, binary_cross_entropy_of(input, target, weight, reduction))


@declare(
    promotion=KEEP,
    variants="",
    node="BinaryCrossEntropyWithLogitsBackward0",
    derivatives={
        "self": lambda grad, self, target, weight, pos_weight, reduction: _of_weighted(
            grad
            * (
                self.sigmoid() - target
                if pos_weight is None
                else (pos_weight * target + 1 - target) * self.sigmoid() - pos_weight * target
            ),
            weight,
            reduction,
            self,
            target,
        ),
        "target": lambda grad, self, target, weight, pos_weight, reduction: _of_weighted(
            grad * (-self if pos_weight is None else log_sigmoid(-self) - pos_weight * log_sigmoid(self)),
            weight,
            reduction,
            self,
            target,
        ),
    },
)
def binary_cross_entropy_of_logits(
    xp: Any, self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    wide = self.astype("float32") if self.dtype.itemsize == 2 else self
    log_sigmoid = (xp.minimum(wide, 0) - xp.log1p(xp.exp(-xp.abs(wide)))).astype(self.dtype, copy=False)
    if pos_weight is None:
        loss = (1 - target) * self - log_sigmoid
    else:
        loss = (1 - target) * self - _weighed(log_sigmoid, (pos_weight - 1) * target + 1)
    loss = _weighed(loss, weight)
    if reduction == "none":
        return restrided(xp, loss, kept_strides(target, loss.itemsize))
    return reduced(loss, reduction)


@composite(variants="function", namespace="nn.functional")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """− weight · (pos_weight · target · log σ(input) + (1 − target) · log(1 − σ(input))), safe for large inputs.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.binary_cross_entropy_with_logits.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    floating(input._array, "log_sigmoid_cpu")
    if target._array.dtype == bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    return in_type_of(target, binary_cross_entropy_of_logits(input, target, weight, pos_weight, reduction))


@composite(variants="function", namespace="nn.functional")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target · (log target − input) for log-probabilities as input; "batchmean" divides the sum by the batch size.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.kl_div.html
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
