"""Sparse matrices, in coordinates or row by row: what is not zero, and where. Enough for graph convolutions.

Source: https://pytorch.org/docs/stable/sparse.html
"""

from __future__ import annotations

from minitorch.sparse.coo import SparseTensor, mm, sparse_coo_tensor, sum, to_sparse
from minitorch.sparse.csr import SparseCsrTensor, sparse_csr_tensor, to_sparse_csr

__all__ = [
    "SparseCsrTensor",
    "SparseTensor",
    "mm",
    "sparse_coo_tensor",
    "sparse_csr_tensor",
    "sum",
    "to_sparse",
    "to_sparse_csr",
]
