"""Weights as a direction and a length, and norms over all dimensions but one.

Source: Salimans and Kingma (2016), *Weight Normalization*, https://arxiv.org/abs/1602.07868
"""

from __future__ import annotations

from minitorch.dispatch.declaration import composite
from minitorch.dispatch.one_node import one_node
from minitorch.tensor import Tensor


@composite(variants="function")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """(Σ |v|ᵖ)^(1/p) over all dimensions but `dim`, which keep size 1; over all, without dimensions, for dim = −1.

    PyTorch has no page about it.
    """
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        return v.contiguous().view(v.size(0), -1).norm(pow, 1).view(v.size(0), *[1] * (v.dim() - 1))
    if dim == v.dim() - 1:
        return v.contiguous().view(-1, v.size(dim)).norm(pow, 0).view(*[1] * dim, v.size(dim))
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


@composite(variants="function")
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g · v / ‖v‖, with a norm for each index of `dim`."""
    v, g = v.contiguous(), g.contiguous()
    return _scaled(v, g, dim) if dim in (0, v.dim() - 1) else v * (g / norm_except_dim(v, 2, dim))


@one_node("WeightNormInterfaceBackward0", "v, g")
def _scaled(v: Tensor, g: Tensor, dim: int) -> Tensor:
    return v * (g / norm_except_dim(v, 2, dim))
