"""Distances between vectors. Source: https://pytorch.org/docs/stable/nn.html#distance-functions"""

from __future__ import annotations

from minitorch import Tensor
from minitorch.nn import functional as F
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.module import Module


class PairwiseDistance(Module):
    """‖x1 − x2 + eps‖ₚ along the last dimension: twice (…, D) → (…,), or (…, 1) with `keepdim`; both are broadcast."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


@layer
class CosineSimilarity(Layer, shown=""):
    """x1 · x2 / (max(‖x1‖, eps) max(‖x2‖, eps)) along `dim`, which is removed: twice (N, D, …) → (N, …) for dim 1."""

    dim: int = 1
    eps: float = 1e-8

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
