"""Losses: one number that says how far predictions are from targets."""

# 16 · Losses and optimizers
from __future__ import annotations

import warnings

from ..checks import refuse
from ..dispatch import composite
from ..settings import TYPE_NAMES, int64, uint8
from ..tensor import Tensor, on_host
from .activation import log_softmax
from .module import Module


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses as they are ("none"), their sum ("sum"), or the mean ("mean")."""
    refuse(reduction not in ("none", "sum", "mean"), f"{reduction} is not a valid value for reduction", ValueError)
    return losses.mean() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


def warn_of_sizes(input: Tensor, target: Tensor) -> None:
    """Say so where a target is broadcast, which is hardly what was meant."""
    if input.shape != target.shape:
        sizes = f"Using a target size ({target.shape}) that is different to the input size ({input.shape})"
        advice = "due to broadcasting. Please ensure they have the same size."
        warnings.warn(f"{sizes}. This will likely lead to incorrect results {advice}", stacklevel=4)


@composite
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(input - target)²."""
    warn_of_sizes(input, target)
    difference = input - target
    return reduced(difference * difference, reduction)


@composite
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|input - target|."""
    warn_of_sizes(input, target)
    return reduced((input - target).abs(), reduction)


@composite
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """-y · log σ(x) - (1 - y) · log(1 - σ(x)), for logits x (`input`) and probabilities y (`target`)."""
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    top = (-input).clamp(min=0)
    return reduced(input - input * target + top + ((-top).exp() + (-input - top).exp()).log(), reduction)


def check_classes(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> None:
    """Refuse targets that are no classes of these inputs, in PyTorch's words."""
    if target.dtype not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {TYPE_NAMES[target.dtype.name]}")
    classes, wanted = input.shape[min(1, input.ndim - 1)], [*input.shape[:1], *input.shape[2:]]
    if input.ndim == 1 and target.numel() != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}")
    refuse(input.ndim <= 2 and target.ndim > 1, "0D or 1D target tensor expected, multi-target not supported")
    if input.ndim > 1 and target.shape[:1] != input.shape[:1]:
        found = target.shape[0] if target.ndim else 0
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({found}).")
    refuse(input.ndim > 1 and list(target.shape) != wanted, f"Expected target size {wanted}, got {list(target.shape)}")
    if weight is not None and weight.shape != (classes,):
        problem = f"should be defined either for all {classes} classes or no classes"
        raise RuntimeError(f"weight tensor {problem} but got weight tensor of shape: {list(weight.shape)}")
    for each in on_host(target).ravel().tolist():
        if each != ignore_index and not 0 <= each < classes:
            raise IndexError(f"Target {each} is out of bounds.")


@composite
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log-probability of the right class, times the weight of that class."""
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim)
    weights = (~ignored).to(input.dtype)
    if weight is not None:
        weights = weights * weight[classes]
    losses = (losses * weights).masked_fill(ignored, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


@composite
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """-log softmax(input)[target]: `nll_loss` of logits (N, C, ...)."""
    return nll_loss(log_softmax(input, min(1, input.ndim - 1)), target, weight, ignore_index, reduction)


class _Loss(Module):
    """A function of this file as a module, which keeps its options."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class L1Loss(_Loss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return l1_loss(input, target, self.reduction)


class MSELoss(_Loss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return mse_loss(input, target, self.reduction)


class BCEWithLogitsLoss(_Loss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return binary_cross_entropy_with_logits(input, target, self.reduction)


class NLLLoss(_Loss):
    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(NLLLoss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return cross_entropy(input, target, self.weight, self.ignore_index, self.reduction)
