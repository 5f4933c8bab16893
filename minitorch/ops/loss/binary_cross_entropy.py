"""Binary cross-entropy: the loss of a yes or no for each element, of probabilities and of logits.

Source: https://pytorch.org/docs/stable/nn.functional.html#loss-functions
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import floating
from minitorch.dispatch.op import KEEP
from minitorch.dtypes import type_name
from minitorch.layout import kept_strides, restrided
from minitorch.ops.loss.regression import in_type_of, log_sigmoid, reduced, reduction_of, shape_of, share
from minitorch.tensor import Tensor


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


@composite(autocast="float32", variants="function", namespace="nn.functional", autocast_on_gpu="refused")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """− weight · (target · log input + (1 − target) · log(1 − input)) for probabilities; each log is at least −100.

    Both have one shape and dtype; `weight` broadcasts to it. Raises ValueError for different shapes, RuntimeError for
    different dtypes and for an input or target outside [0, 1].
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
    elementwise=True,
    order=None,  # the kernel has the target's
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


@composite(autocast="float32", variants="function", namespace="nn.functional")
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

    Input and target have one shape, to which `weight` and `pos_weight`, often (C,), broadcast.
    Raises ValueError for different shapes, RuntimeError for weights that don't broadcast.
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
