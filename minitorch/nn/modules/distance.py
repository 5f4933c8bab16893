"""Distances between vectors. Source: https://pytorch.org/docs/stable/nn.html#distance-functions"""

from __future__ import annotations

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor


class PairwiseDistance(Module):
    """‖x1 − x2 + eps‖ₚ along the last dimension.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.PairwiseDistance.html
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.CosineSimilarity.html
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
