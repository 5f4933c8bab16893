"""Losses that ask for a margin between what is right and what isn't. PyTorch has them in `nn.modules.loss`.

Source: https://pytorch.org/docs/stable/nn.html#loss-functions
"""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.distance import PairwiseDistance
from minitorch.nn.modules.loss_base import _Loss, _WeightedLoss
from minitorch.tensor import Tensor

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class HingeEmbeddingLoss(_Loss, function="hinge_embedding_loss", passed="margin reduction"):
    """input where target is 1, max(0, margin − input) where it is −1, of tensors of one shape."""

    def __init__(
        self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class _OfPairs(_Loss, passed="margin reduction"):
    """A loss of two inputs, of which the target is 1 or −1."""

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(input1, input2, target)


class MarginRankingLoss(_OfPairs, function="margin_ranking_loss"):
    """max(0, −target · (input1 − input2) + margin), elementwise: target 1 wants input1 larger, −1 smaller."""


class CosineEmbeddingLoss(_OfPairs, function="cosine_embedding_loss"):
    """1 − cos where target is 1, max(0, cos − margin) where it is −1, for the angle between rows (N, D)."""


class SoftMarginLoss(_Loss, function="soft_margin_loss"):
    """log(1 + exp(−target · input)) for targets ±1 of the input's shape."""


class MultiLabelMarginLoss(_Loss, function="multilabel_margin_loss"):
    """Σ max(0, 1 − input[label] + inputⱼ) / C over a row's labels and the classes j that are none, for (N, C) or (C,).

    The target is int64 of the input's shape: a row's labels, ended by −1.
    """


class MultiLabelSoftMarginLoss(_WeightedLoss, function="multilabel_soft_margin_loss"):
    """The binary cross-entropy of every class for logits and targets (N, C), averaged over the classes."""


class MultiMarginLoss(_WeightedLoss, function="multi_margin_loss", passed="p margin weight reduction"):
    """Σⱼ max(0, margin − input[target] + inputⱼ)ᵖ / C over classes j but the target, for (N, C), int64 (N,).

    Raises ValueError unless p is 1 or 2, and for a `weight` that isn't (C,).
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin


class TripletMarginLoss(_Loss, function="triplet_margin_loss", passed="margin p eps swap reduction"):
    """max(0, d(anchor, positive) − d(anchor, negative) + margin), d the p-norm of the difference: three (N, D).

    Raises ValueError unless the margin is positive.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(anchor, positive, negative)


class TripletMarginWithDistanceLoss(
    _Loss, function="triplet_margin_with_distance_loss", passed="distance_function margin swap reduction"
):
    """max(0, d(anchor, positive) − d(anchor, negative) + margin) with a function d of two tensors (N, D) → (N,).

    Raises ValueError unless the margin is positive.
    """

    def __init__(
        self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        return self._of(anchor, positive, negative)
