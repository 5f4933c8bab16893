"""Norms and distances by PyTorch's older names. Source: https://pytorch.org/docs/stable/torch.html"""

from __future__ import annotations

from typing import Any

from minitorch.ops.apply import write_out
from minitorch.ops.declaration import composite
from minitorch.ops.norms import matrix_norm, vector_norm
from minitorch.tensor import Tensor


@composite(variants="function method")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over the dimensions `dim`, or all; for p = "nuc" the sum of a matrix' singular values.

    https://pytorch.org/docs/stable/generated/torch.norm.html
    """
    if isinstance(p, str) and p != "fro":
        result = matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    else:
        result = vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)
    return result if out is None else write_out(out, result)


@composite(variants="function method")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """‖input − other‖ₚ over all elements. https://pytorch.org/docs/stable/generated/torch.dist.html"""
    return vector_norm(input - other, p)
