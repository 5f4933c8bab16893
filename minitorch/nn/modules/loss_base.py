"""What losses share: the reduction, and weights of classes. PyTorch has it in `nn.modules.loss`.

Source: https://pytorch.org/docs/stable/nn.html#loss-functions
"""

from __future__ import annotations

from minitorch.nn.modules.module import Module
from minitorch.ops.loss import reduction_of
from minitorch.tensor import Tensor


class _Loss(Module):
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        deprecated = size_average is not None or reduce is not None
        self.reduction = reduction_of(reduction, size_average, reduce) if deprecated else reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None
