"""Sparse matrices in coordinates: what is not zero, and where. Enough for graph convolutions, forward and backward.

Source: https://pytorch.org/docs/stable/sparse.html
"""

from __future__ import annotations

from minitorch.sparse.coo import SparseTensor, mm, sparse_coo_tensor, sum, to_sparse

__all__ = ["SparseTensor", "mm", "sparse_coo_tensor", "sum", "to_sparse"]
