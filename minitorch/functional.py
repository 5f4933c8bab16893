"""Functions of tensors that PyTorch writes in Python: `torch.einsum` and these others say that they are from here.

Source: https://github.com/pytorch/pytorch/blob/main/torch/functional.py
"""

from __future__ import annotations

from minitorch._lowrank import pca_lowrank, svd_lowrank
from minitorch.ops.creation.grids import meshgrid, unravel_index
from minitorch.ops.fft.short_time import istft, stft
from minitorch.ops.indexing.joining import block_diag, cartesian_prod
from minitorch.ops.linalg.contraction import chain_matmul, einsum, tensordot
from minitorch.ops.linalg.distances import cdist, norm
from minitorch.ops.linalg.eig import lu
from minitorch.ops.reduction.counting import unique, unique_consecutive
from minitorch.ops.views.broadcasting import broadcast_shapes, broadcast_tensors
from minitorch.ops.views.shape import atleast_1d, atleast_2d, atleast_3d
from minitorch.ops.views.splitting import split

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft",
    "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip

for _name in set(__all__) - {"istft", "pca_lowrank", "svd_lowrank"}:  # which are written elsewhere
    globals()[_name].__module__ = __name__
