"""What losses share: the reduction, and weights of classes. PyTorch has it in `nn.modules.loss`.

Source: https://pytorch.org/docs/stable/nn.html#loss-functions
"""

from __future__ import annotations

from typing import Any, ClassVar

from minitorch.nn import functional as F
from minitorch.nn.modules.layer import Declared
from minitorch.ops.loss.regression import reduction_of
from minitorch.tensor import Tensor


class _Loss(Declared):
    """Returns the mean or the sum of the losses as a 0-d tensor, or with `reduction="none"` each of them.

    `forward` calls the function of the same name in `nn.functional`, and raises ValueError for another `reduction`,
    ValueError or RuntimeError for shapes that don't fit. The attributes that `passed` names are its keywords.
    """

    reduction: str
    function: ClassVar[str]
    passed: ClassVar[str] = "reduction"

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        deprecated = size_average is not None or reduce is not None
        self.reduction = reduction_of(reduction, size_average, reduce) if deprecated else reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._of(input, target)

    def _of(self, *tensors: Any) -> Tensor:
        function = getattr(F, self.function)
        result: Tensor = function(*tensors, **{name: getattr(self, name) for name in self.passed.split()})
        return result


class _WeightedLoss(_Loss, passed="weight reduction"):
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
