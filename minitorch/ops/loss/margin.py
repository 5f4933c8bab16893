"""Losses of distances and margins.

Source: https://pytorch.org/docs/stable/nn.functional.html#loss-functions
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import broadcast_clash, floating, not_implemented
from minitorch.dispatch.op import KEEP
from minitorch.dtypes import float32, float64
from minitorch.ops.linalg.distances import pairwise_distance
from minitorch.ops.loss.regression import (
    REDUCTIONS,
    count,
    expect_type,
    in_type_of,
    log_sigmoid,
    reduced,
    reduction_of,
    shape_of,
    share,
)
from minitorch.ops.pointwise.selection import where
from minitorch.tensor import Tensor


@composite(autocast="float32", variants="function", namespace="nn.functional")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin − input) where it is −1; elementwise, of tensors that broadcast."""
    reduction = reduction_of(reduction, size_average, reduce)
    far = where(target.ne(1), (margin - input).clamp_min(0), 0)
    return reduced(far + where(target.ne(-1), input, 0), reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, −target · (input1 − input2) + margin), elementwise: target 1 wants input1 larger, −1 smaller.

    Raises RuntimeError unless the three have the same number of dimensions; their shapes are broadcast.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def _soft_margin_gradient(grad: Tensor, self: Tensor, target: Tensor, reduction: str) -> Any:
    z = (-target * self).exp()
    norm = 1 / count(self, target) if reduction == "mean" else 1
    return target * z * -norm / (z + 1) * grad


@declare(
    promotion=KEEP,
    variants="",
    elementwise=True,
    node="SoftMarginLossBackward0",
    derivatives={"self": _soft_margin_gradient},
)
def soft_margin(xp: Any, self: Array, target: Array, reduction: str) -> Array:
    return reduced(xp.log1p(xp.exp(-target * self)), reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(−target · input)) for targets ±1, elementwise, in the shape of `input`.

    Raises RuntimeError for a target that doesn't broadcast to the input.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target.requires_grad:
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument 'target'. This input "
            "cannot have requires_grad True."
        )
    shape = shape_of(input._array.shape, target._array.shape)
    if shape != input._array.shape and broadcast_clash(input._array.shape, target._array.shape) is None:
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    return in_type_of(input, soft_margin(input, target, reduction))


def _check_rows(self: Array) -> None:
    if self.ndim > 2 or 0 in self.shape[1:] or self.shape == (0,):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )


def _multi_margin_gradient(
    grad: Tensor, self: Tensor, target: Tensor, p: int, margin: float, weight: Tensor | None, reduction: str
) -> Tensor:
    if not self.dim():
        return self.new_zeros(())
    index = target.reshape(self.shape[:-1]).unsqueeze(-1)
    excess = margin - self.gather(-1, index) + self
    slope = (excess > 0).to(self.dtype) * (1 if p == 1 else 2 * excess)
    if weight is not None:
        slope = slope * weight[index]
    slope = slope.scatter(-1, index, 0.0)
    slope = slope.scatter(-1, index, -slope.sum(-1, keepdim=True)) / self.shape[-1]
    each = share(grad, reduction, target, target).reshape(self.shape[:-1] if reduction == "none" else ())
    return slope * each.unsqueeze(-1)


@declare(
    promotion=KEEP,
    promoted=("self", "weight"),
    upcast=True,
    variants="",
    node="MultiMarginLossBackward0",
    derivatives={"self": _multi_margin_gradient},
)
def multi_margin(
    xp: Any, self: Array, target: Array, p: int, margin: float, weight: Array | None, reduction: str
) -> Array:
    _check_rows(self)
    classes = self.shape[-1] if self.ndim else 1
    size = self.shape[0] if self.ndim == 2 else 1
    if target.ndim > 1 or target.size != size:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{size}], but got {list(target.shape)}. Input has shape {list(self.shape)}."
        )
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    expect_type("int64", target)
    rows, target_rows = self.reshape(-1, classes), target.reshape(-1)
    if target.size and not 0 <= int(target.min()) <= int(target.max()) < classes:
        raise RuntimeError("target out of range")
    at = (xp.arange(len(rows)), target_rows)
    excess = xp.maximum(margin - rows[at][:, None] + rows, 0) ** p
    if weight is not None:
        excess = excess * weight[target_rows][:, None]
    excess[at] = 0
    return reduced((excess.sum(1) / classes).reshape(target.shape), reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
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

    Input (N, C) or (C,), target int64 (N,) or 0-d, `weight` (C,) by the target's class.
    Raises ValueError unless p is 1 or 2, RuntimeError for a class out of range, NotImplementedError for integers.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if input._dtype not in (float32, float64):
        raise not_implemented("multi_margin_loss_cpu_kernel", input._dtype.name)
    expect_type(input._dtype.name, None if weight is None else weight._array)
    return multi_margin(input, target, p, margin, weight, reduction)


def _multilabel_gradient(grad: Tensor, self: Tensor, target: Tensor, reduction: str) -> Tensor:
    if not self.dim():
        return self.new_zeros(())
    listed = (target < 0).cumsum(-1) == 0
    index = target.where(listed, 0)
    hits = listed.unsqueeze(-1) & (index.unsqueeze(-1) == target.new_tensor(range(self.shape[-1])))
    picked = self.gather(-1, index)
    active = (1 - picked.unsqueeze(-1) + self.unsqueeze(-2)) > 0
    active = (active & listed.unsqueeze(-1) & ~hits.any(-2, keepdim=True)).to(self.dtype)
    slope = active.sum(-2).scatter_add(-1, index, -active.sum(-1)) / self.shape[-1]
    each = slope[..., 0]
    return slope * share(grad, reduction, each, each).unsqueeze(-1)


@declare(
    promotion=KEEP,
    promoted=("self",),
    variants="",
    node="MultilabelMarginLossBackward0",
    derivatives={"self": _multilabel_gradient},
)
def multilabel_margin(xp: Any, self: Array, target: Array, reduction: str) -> Array:
    _check_rows(self)
    if target.shape != self.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    if self.dtype not in ("float32", "float64"):
        raise not_implemented("multilabel_margin_loss_forward_out_frame", self.dtype.name)
    expect_type("int64", target)
    if not self.ndim:
        self, target = self.reshape(1), target.reshape(1)
    classes = self.shape[-1]
    if target.size and not -1 <= int(target.min()) <= int(target.max()) < classes:
        raise RuntimeError("argument #2 'target' is out of range")
    listed = xp.cumsum(target < 0, -1) == 0  # a row's labels end at its first negative entry
    index = xp.where(listed, target, 0)
    is_label = xp.zeros(self.shape, bool)
    for label in range(classes):
        is_label[..., label] = (listed & (index == label)).any(-1)
    picked = xp.take_along_axis(self, index, -1)
    excess = xp.maximum(1 - picked[..., :, None] + self[..., None, :], 0)
    excess = excess * (listed[..., :, None] & ~is_label[..., None, :])
    return reduced(excess.sum((-2, -1)) / classes, reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Σ max(0, 1 − input[label] + inputⱼ) / C over a row's labels and the classes j that are none.

    The labels of a row end at its first −1.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    return multilabel_margin(input, target, reduction)


@composite(variants="function", namespace="nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross-entropy of every class, averaged over the classes: − mean (y log σ(x) + (1 − y) log(1 − σ(x))).

    Input and target (…, C) of one shape, `weight` (C,) → a loss (…) before it is reduced.
    Raises ValueError for sizes that differ.
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    floating(input._array, "log_sigmoid_cpu")
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1  # not −1: a target of more dimensions broadcasts
    return reduced(loss.sum(classes) / input.size(classes), reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
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

    Inputs (N, D) and a target (N,), or (D,) and a 0-d target; the loss has the shape of the target before it is
    reduced. Raises RuntimeError for other numbers of dimensions.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    dim = target.dim()
    if not input1.dim() == input2.dim() == dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    squares = ((input1 * input1).sum(dim) + 1e-12) * ((input2 * input2).sum(dim) + 1e-12)
    cosine = (input1 * input2).sum(dim) / squares.sqrt()
    near, far = where(target.eq(1), 1 - cosine, 0), where(target.eq(-1), (cosine - margin).clamp_min(0), 0)
    return reduced(near + far, reduction)


@composite(autocast="float32", variants="function", namespace="nn.functional")
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
    """max(0, d(anchor, positive) − d(anchor, negative) + margin), d(a, b) = ‖a − b + eps‖ₚ along the last dimension.

    (…, D), all with as many dimensions → (…) before it is reduced. `swap` takes d(positive, negative) where that is
    smaller. Raises ValueError unless the margin is positive, RuntimeError for other dimensions.
    Balntas et al. 2016
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    reduction = reduction_of(reduction, size_average, reduce)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

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
    """max(0, d(anchor, positive) − d(anchor, negative) + margin) with d = `distance_function`.

    The function maps two tensors (…, D) to (…); by default it is `pairwise_distance`. `swap` takes d(positive,
    negative) where that is smaller. Raises ValueError unless the margin is positive, RuntimeError for tensors of
    different numbers of dimensions.
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction_of(reduction))


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Any, margin: float, swap: bool, reduction: str
) -> Tensor:
    dims = (anchor.dim(), positive.dim(), negative.dim())
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)
