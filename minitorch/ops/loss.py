"""Loss functions: how far predictions are from their targets.

Where PyTorch has one node for a loss, it is an op here; the others are written with ops.
Source: https://pytorch.org/docs/stable/nn.functional.html#loss-functions
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.backend import Array
from minitorch.ops.declaration import KEEP, composite, declare
from minitorch.sampling.fill import NAMES
from minitorch.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction that a loss is asked for, also by the two older arguments. Raises ValueError for unknown ones."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=3
        )
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """The elements of a loss, a tensor or an array, or their sum or mean."""
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def share(grad: Tensor, reduction: str, *tensors: Tensor) -> Tensor:
    """The gradient that each element of a loss gets."""
    if reduction != "mean":
        return grad
    shape = _shape_of(*(each._array.shape for each in tensors))
    return grad / max(math.prod(shape), 1)


def _shape_of(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two broadcast to."""
    length = max(len(a), len(b))
    a, b = (1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def require_float(kernel: str, array: Array) -> None:
    if array.dtype.kind in "biu":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[array.dtype.name].scalar}'")


# Regression


def weighted(loss: Tensor, weight: Tensor | None, reduction: str, norm: bool = False) -> Tensor:
    """A loss times a weight for each element; the mean, with `norm`, is over the weights."""
    if weight is None:
        return reduced(loss, reduction)  # type: ignore[no-any-return]
    if reduction == "mean" and norm:
        return (loss * weight).sum() / weight.expand_as(loss).sum()
    return reduced(loss * weight, reduction)  # type: ignore[no-any-return]


def check_same_size(input: Tensor, target: Tensor) -> None:
    if target._array.shape != input._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead "
            "to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    node="MseLossBackward0",
    derivatives={
        "self": lambda grad, self, target, reduction: (self - target) * (share(grad, reduction, self, target) * 2),
        "target": lambda grad, self, target, reduction: (target - self) * (share(grad, reduction, self, target) * 2),
    },
)
def squared_error(xp: Any, self: Array, target: Array, reduction: str) -> Array:
    require_float("mse_cpu", self)
    difference = xp.subtract(self, target)
    if reduction == "none":
        return xp.multiply(difference, difference, out=difference)
    flat = difference.reshape(-1)
    total = xp.dot(flat, flat)
    return total if reduction == "sum" else total / xp.asarray(flat.size, total.dtype)


@composite(variants="function", namespace="nn.functional")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input − target)². https://pytorch.org/docs/stable/generated/torch.nn.functional.mse_loss.html"""
    check_same_size(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        return squared_error(input, target, reduction)  # type: ignore[no-any-return]
    return weighted(squared_error(input, target, "none"), weight, reduction, norm=True)


@composite(variants="function", namespace="nn.functional")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input − target|. https://pytorch.org/docs/stable/generated/torch.nn.functional.l1_loss.html"""
    check_same_size(input, target)
    return weighted((input - target).abs(), weight, reduction_of(reduction, size_average, reduce), norm=True)


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    node="SmoothL1LossBackward0",
    derivatives={
        "self": lambda grad, self, target, reduction, beta: _bend(self - target, beta) * share(grad, reduction, self, target),
        "target": lambda grad, self, target, reduction, beta: _bend(target - self, beta) * share(grad, reduction, self, target),
    },
)
def smooth_absolute_error(xp: Any, self: Array, target: Array, reduction: str, beta: float) -> Array:
    require_float("smooth_l1_cpu", self)
    distance = xp.abs(xp.subtract(self, target))
    loss = xp.where(distance < beta, distance * distance * (0.5 / beta), distance - 0.5 * beta)
    return reduced(loss.astype(self.dtype, copy=False), reduction)


def _bend(difference: Tensor, beta: float) -> Tensor:
    return (difference / beta).where(difference.abs() < beta, difference.sign())  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d²/2β where d = |input − target| < β, d − β/2 elsewhere.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.smooth_l1_loss.html
    """
    check_same_size(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced((input - target).abs(), reduction)  # type: ignore[no-any-return]
    return smooth_absolute_error(input, target, reduction, beta)  # type: ignore[no-any-return]


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    node="HuberLossBackward0",
    derivatives={
        "self": lambda grad, self, target, reduction, delta: (
            _bend(self - target, delta) * (share(grad, reduction, self, target) * delta)
        ),
        "target": lambda grad, self, target, reduction, delta: (
            _bend(target - self, delta) * (share(grad, reduction, self, target) * delta)
        ),
    },
)
def huber_error(xp: Any, self: Array, target: Array, reduction: str, delta: float) -> Array:
    require_float("huber_cpu", self)
    distance = xp.abs(xp.subtract(self, target))
    loss = xp.where(distance < delta, distance * distance * 0.5, (distance - 0.5 * delta) * delta)
    return reduced(loss.astype(self.dtype, copy=False), reduction)


@composite(variants="function", namespace="nn.functional")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d²/2 where d = |input − target| < δ, δ (d − δ/2) elsewhere.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.huber_loss.html
    """
    check_same_size(input, target)
    reduction = reduction_of(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return huber_error(input, target, reduction, delta)  # type: ignore[no-any-return]
    return weighted(huber_error(input, target, "none", delta), weight, reduction)


@composite(variants="function", namespace="nn.functional")
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
    """λ − target · log λ for a Poisson distribution of rate λ = exp(input), or input; `full` adds Stirling's log(target!).

    https://pytorch.org/docs/stable/generated/torch.nn.functional.poisson_nll_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """½ (log var + (input − target)² / var), with var at least `eps`; `full` adds ½ log 2π.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.gaussian_nll_loss.html
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
        elif not (input.shape[:-1] == variance.shape[:-1] and variance.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    # The bound is no part of the function that is differentiated.
    clamped = variance.clone()
    clamped.data.clamp_(min=eps)
    loss = 0.5 * (clamped.log() + (input - target) ** 2 / clamped)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)  # type: ignore[no-any-return]


# Classification


def _class_dim(array: Array) -> int:
    return 0 if array.ndim == 1 else 1


def _picked(xp: Any, self: Array, target: Array) -> Array:
    """self[n, target[n, …], …]: of every element, the class that its target names."""
    if self.ndim == 1:
        return self[target]
    if self.ndim == 2:
        return self[xp.arange(len(target)), target]
    return xp.take_along_axis(self, target[:, None], 1)[:, 0]


def _targets(xp: Any, self: Array, target: Array, weight: Array | None, ignore_index: int) -> tuple[Array, Array | None]:
    """The targets with 0 for those to ignore, and the weight of each element; None where all weigh 1."""
    classes = self.shape[_class_dim(self)]
    ignored = target == ignore_index if ignore_index >= 0 or (target.size and int(target.min()) < 0) else None
    if ignored is not None:
        target = xp.where(ignored, 0, target)
    if target.size:
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
    if self.ndim <= 2:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
            raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    if self.ndim != 1 and self.shape[0] != (target.shape[0] if target.ndim else 1):
        raise ValueError(
            f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({target.shape[0] if target.ndim else 1})."
        )
    expected = [self.shape[0], *self.shape[2:]]
    if self.ndim == 3 and list(target.shape) != expected:
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    if self.ndim > 3 and list(target.shape) != expected:
        if self.ndim == 4 and target.ndim == 3:
            raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {NAMES[target.dtype.name].scalar}")
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
    node=lambda self, *_: "NllLossBackward0" if self._array.ndim <= 2 else "NllLoss2DBackward0",
    derivatives={
        "self": lambda grad, self, target, weight, ignore_index, reduction: negative_log_likelihood_backward(
            grad, self.detach(), target, weight, ignore_index, reduction
        ),
    },
)
def negative_log_likelihood(
    xp: Any, self: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    _check_classes(self, target, weight)
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
    node=lambda grad_output, self, *_: "NllLossBackwardBackward0" if self._array.ndim <= 2 else "NllLoss2DBackwardBackward0",
    derivatives={
        "grad_output": lambda grad, target, weight, ignore_index, reduction: negative_log_likelihood(
            grad, target, weight, ignore_index, reduction
        ),
    },
)
def negative_log_likelihood_backward(
    xp: Any, grad_output: Array, self: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    """The gradient of the input: − grad · weight at the target's class, 0 elsewhere."""
    target, weights = _targets(xp, self, target, weight, ignore_index)
    value = -grad_output
    if weights is not None:
        value = value * (weights / weights.sum() if reduction == "mean" else weights)
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
    return negative_log_likelihood(input, target, weight, ignore_index, reduction)  # type: ignore[no-any-return]


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
    """− log softmax(input)[target] for logits (N, C, …) and class indices (N, …), or probabilities of the input's shape.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if not isinstance(target, Tensor):
        raise TypeError(f"cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not {type(target).__name__}")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    class_dim = _class_dim(input._array)
    if target._array.shape == input._array.shape:
        return _cross_entropy_of_probabilities(input.log_softmax(class_dim), target, weight, ignore_index, reduction,
                                               label_smoothing)  # fmt: skip
    log_probabilities = input.log_softmax(class_dim)
    loss: Tensor = negative_log_likelihood(log_probabilities, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    # The part of the target that is spread over all classes.
    if weight is not None:
        log_probabilities = log_probabilities * weight.view([-1 if d == class_dim else 1 for d in range(input.dim())])
    ignored = target == ignore_index
    smooth = (-log_probabilities.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction == "sum":
        smooth = smooth.sum()
    elif reduction == "mean":
        kept = target.masked_select(~ignored)
        smooth = smooth.sum() / (kept.numel() if weight is None else weight.gather(0, kept).sum())
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[class_dim])


def _cross_entropy_of_probabilities(
    log_probabilities: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    if not target.is_floating_point():
        name = NAMES[target.dtype.name].scalar
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {name}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    class_dim = _class_dim(target._array)
    classes = target.shape[class_dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    product = log_probabilities * target
    if weight is not None:
        product = product * weight.view([-1 if d == class_dim else 1 for d in range(target.dim())])
    if reduction == "none":
        return -product.sum(class_dim)
    total = -product.sum()
    return total / (target.numel() / classes) if reduction == "mean" and classes else total


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    node="BinaryCrossEntropyBackward0",
    derivatives={
        "self": lambda grad, self, target, weight, reduction: (
            _times(share(grad, reduction, self, target), weight)
            * (self - target) / ((1 - self) * self).clamp(min=1e-12)
        ),
        "target": lambda grad, self, target, weight, reduction: (
            _times(share(grad, reduction, self, target), weight)
            * ((1 - self).log().clamp(min=-100) - self.log().clamp(min=-100))
        ),
    },
)  # fmt: skip
def binary_cross_entropy_of(xp: Any, self: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    if self.size and not ((self >= 0) & (self <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    # PyTorch bounds the logarithms, so that a certain and wrong prediction costs 100 and not infinity.
    loss = (target - 1) * xp.maximum(xp.log1p(-self), -100) - target * xp.maximum(xp.log(self), -100)
    return reduced(loss if weight is None else loss * weight, reduction)


def _times(value: Tensor, weight: Tensor | None) -> Tensor:
    return value if weight is None else value * weight


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
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(_shape_of(target._array.shape, weight._array.shape))
    return binary_cross_entropy_of(input, target, weight, reduction)  # type: ignore[no-any-return]


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    node="BinaryCrossEntropyWithLogitsBackward0",
    derivatives={
        "self": lambda grad, self, target, weight, pos_weight, reduction: (
            _times(share(grad, reduction, self, target), weight)
            * (
                self.sigmoid() - target
                if pos_weight is None
                else (pos_weight * target + 1 - target) * self.sigmoid() - pos_weight * target
            )
        ),
        "target": lambda grad, self, target, weight, pos_weight, reduction: (
            _times(share(grad, reduction, self, target), weight)
            * (-self if pos_weight is None else (1 - pos_weight) * _log_sigmoid(self) - self)
        ),
    },
)
def binary_cross_entropy_of_logits(
    xp: Any, self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    log_sigmoid = xp.minimum(self, 0) - xp.log1p(xp.exp(-xp.abs(self)))
    if pos_weight is None:
        loss = (1 - target) * self - log_sigmoid
    else:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid
    return reduced(loss if weight is None else loss * weight, reduction)


def _log_sigmoid(x: Tensor) -> Tensor:
    return x.clamp(max=0) - (-x.abs()).exp().log1p()  # type: ignore[no-any-return]


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
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return binary_cross_entropy_of_logits(input, target, weight, pos_weight, reduction)  # type: ignore[no-any-return]


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
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only "
            "by the batch size, and aligns with the KL math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
            stacklevel=2,
        )
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    result = reduced(loss, reduction)
    return result / input.shape[0] if batchmean and input.dim() else result  # type: ignore[no-any-return]


# Margins and distances


@composite(variants="function", namespace="nn.functional")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin − input) where it is −1.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.hinge_embedding_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    far = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    return reduced(far + input.masked_fill(target == -1, 0), reduction)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, −target · (input1 − input2) + margin).

    https://pytorch.org/docs/stable/generated/torch.nn.functional.margin_ranking_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)  # type: ignore[no-any-return]


@declare(
    promotion=KEEP,
    upcast=True,
    variants="",
    node="SoftMarginLossBackward0",
    derivatives={
        "self": lambda grad, self, target, reduction: (
            share(grad, reduction, self, target) * -target * (-target * self).sigmoid()
        ),
    },
)
def soft_margin(xp: Any, self: Array, target: Array, reduction: str) -> Array:
    return reduced(xp.log1p(xp.exp(-target * self)), reduction)


@composite(variants="function", namespace="nn.functional")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(−target · input)). https://pytorch.org/docs/stable/generated/torch.nn.functional.soft_margin_loss.html"""
    reduction = reduction_of(reduction, size_average, reduce)
    return soft_margin(input, target, reduction)  # type: ignore[no-any-return]


@declare(
    promotion=KEEP,
    promoted=("self", "weight"),
    upcast=True,
    variants="",
    node="MultiMarginLossBackward0",
    derivatives={
        "self": lambda grad, self, target, p, margin, weight, reduction: _multi_margin_gradient(
            grad, self, target, p, margin, weight, reduction
        ),
    },
)
def multi_margin(
    xp: Any, self: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: str
) -> Array:
    classes = self.shape[-1]
    rows, target_rows = self.reshape(-1, classes), target.reshape(-1)
    if target.size and not 0 <= int(target.min()) <= int(target.max()) < classes:
        raise RuntimeError("target out of range")
    at = (xp.arange(len(rows)), target_rows)
    excess = xp.maximum(margin - rows[at][:, None] + rows, 0) ** p
    if weight is not None:
        excess = excess * weight[target_rows][:, None]
    excess[at] = 0
    return reduced((excess.sum(1) / classes).reshape(target.shape).astype(self.dtype, copy=False), reduction)


def _multi_margin_gradient(
    grad: Tensor, self: Tensor, target: Tensor, p: int, margin: float, weight: Tensor | None, reduction: str
) -> Tensor:
    index = target.unsqueeze(-1)
    excess = margin - self.gather(-1, index) + self
    slope = (excess > 0).to(self.dtype) * (1 if p == 1 else 2 * excess)
    if weight is not None:
        slope = slope * weight[target].unsqueeze(-1)
    slope = slope.scatter(-1, index, 0.0)
    slope = slope.scatter(-1, index, -slope.sum(-1, keepdim=True)) / self.shape[-1]
    return slope * share(grad, reduction, target, target).unsqueeze(-1)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σⱼ max(0, margin − input[target] + inputⱼ)ᵖ / C over the classes j other than the target.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.multi_margin_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return multi_margin(input, target, p, margin, weight, reduction)  # type: ignore[no-any-return]


@declare(
    promotion=KEEP,
    promoted=("self",),
    upcast=True,
    variants="",
    node="MultilabelMarginLossBackward0",
    derivatives={
        "self": lambda grad, self, target, reduction: _multilabel_gradient(grad, self, target, reduction),
    },
)
def multilabel_margin(xp: Any, self: Array, target: Array, reduction: str) -> Array:
    classes = self.shape[-1]
    listed = xp.cumsum(target < 0, -1) == 0  # a row's labels end at its first negative entry
    index = xp.where(listed, target, 0)
    is_label = xp.zeros(self.shape, bool)
    for label in range(classes):
        is_label[..., label] = (listed & (index == label)).any(-1)
    picked = xp.take_along_axis(self, index, -1)
    excess = xp.maximum(1 - picked[..., :, None] + self[..., None, :], 0)
    excess = excess * (listed[..., :, None] & ~is_label[..., None, :])
    return reduced((excess.sum((-2, -1)) / classes).astype(self.dtype, copy=False), reduction)


def _multilabel_gradient(grad: Tensor, self: Tensor, target: Tensor, reduction: str) -> Tensor:
    listed = (target < 0).cumsum(-1) == 0
    index = target.where(listed, 0)
    hits = listed.unsqueeze(-1) & (index.unsqueeze(-1) == target.new_tensor(range(self.shape[-1])))
    picked = self.gather(-1, index)
    active = (1 - picked.unsqueeze(-1) + self.unsqueeze(-2)) > 0
    active = (active & listed.unsqueeze(-1) & ~hits.any(-2, keepdim=True)).to(self.dtype)
    slope = active.sum(-2).scatter_add(-1, index, -active.sum(-1)) / self.shape[-1]
    each = slope[..., 0]
    return slope * share(grad, reduction, each, each).unsqueeze(-1)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Σ max(0, 1 − input[label] + inputⱼ) / C over the labels of a row, up to its first −1, and the classes j that are none.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.multilabel_margin_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    return multilabel_margin(input, target, reduction)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross-entropy of every class, averaged over the classes.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.multilabel_soft_margin_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * _log_sigmoid(input) + (1 - target) * _log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 − cos where target is 1, max(0, cos − margin) where it is −1, for the angle between two vectors.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.cosine_embedding_loss.html
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target.dim() > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported"
        )
    dim = target.dim()
    squares = ((input1 * input1).sum(dim) + 1e-12) * ((input2 * input2).sum(dim) + 1e-12)
    cosine = (input1 * input2).sum(dim) / squares.sqrt()
    loss = (1 - cosine).masked_fill(target != 1, 0) + (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return reduced(loss, reduction)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x1 − x2 + eps‖ₚ along the last dimension.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.pairwise_distance.html
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)  # type: ignore[no-any-return]


@composite(variants="function", namespace="nn.functional")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) − d(anchor, negative) + margin); `swap` takes d(positive, negative) where that is less.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.triplet_margin_loss.html
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    reduction = reduction_of(reduction, size_average, reduce)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)  # type: ignore[no-any-return]

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


@composite(variants="function", namespace="nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """The triplet loss with a distance of one's own.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.triplet_margin_with_distance_loss.html
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction_of(reduction))


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Any, margin: float, swap: bool, reduction: str
) -> Tensor:
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)  # type: ignore[no-any-return]
