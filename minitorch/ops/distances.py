"""Distances between vectors, and the norm by its older name. Source: https://pytorch.org/docs/stable/torch.html"""

from __future__ import annotations

import math
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.backend import Array
from minitorch.dtypes import SCALAR_TYPES, type_name
from minitorch.ops.apply import write_out
from minitorch.ops.broadcasting import broadcast_tensors
from minitorch.ops.declaration import NAMESPACES, composite, declare
from minitorch.ops.errors import broadcast_clash, not_implemented
from minitorch.ops.norms import matrix_norm, vector_norm
from minitorch.ops.promotion import result_type
from minitorch.tensor import Tensor

_BLOCK = 1 << 18  # differences that are held at a time


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
    return result if out is None else write_out("norm", out, result)


@composite(variants="function method")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """‖input − other‖ₚ over all elements. https://pytorch.org/docs/stable/generated/torch.dist.html"""
    return vector_norm(input - other, p)


def _cdist_gradients(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> tuple[Tensor, Tensor]:
    """Zero wherever the distance is zero or infinitely steep."""
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    grad, distance = grad.unsqueeze(-1), result.unsqueeze(-1)
    size = apart.abs()
    if p == 0:
        slope = apart * 0
    elif p == 1:
        slope = grad * apart.sgn()
    elif math.isinf(p):
        slope = grad * apart.sgn() * (size == distance)
    else:
        flat = (distance == 0) | ((apart == 0) if p < 1 else False)
        slope = (apart.sgn() * size.pow(p - 1) * grad / distance.pow(p - 1)).masked_fill(flat, 0)
    return slope.sum(-2), -slope.sum(-3)


def _distances(xp: Any, apart: Array, p: float) -> Array:
    """(Σ |apart|ᵖ)^(1/p) along the last dimension."""
    if p == 0:
        return (apart != 0).sum(-1).astype(apart.dtype)
    if p == 2:
        return xp.sqrt(xp.einsum("...i,...i", apart, apart))
    size = xp.abs(apart)
    if p == 1:
        return size.sum(-1)
    return size.max(-1) if math.isinf(p) else (size**p).sum(-1) ** (1 / p)


@declare(variants="", node="CdistBackward0", derivatives={"x1, x2": _cdist_gradients})
def pairwise_distances(xp: Any, x1: Array, x2: Array, p: float) -> Array:
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"expected scalar type {type_name(x1)} but found {type_name(x2)}")
    rows, others = x1.shape[-2], x2.shape[-2]
    batch = xp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = xp.zeros((*batch, rows, others), x1.dtype)
    if not x1.size or not x2.size:
        return result
    if x1.dtype.itemsize == 2:
        raise not_implemented("cdist", x1.dtype.name)
    step = max(_BLOCK // (math.prod(batch) * others * x1.shape[-1]), 1)
    for start in range(0, rows, step):
        some = slice(start, start + step)
        result[..., some, :] = _distances(xp, x1[..., some, None, :] - x2[..., None, :, :], p)
    return result


def _euclidean_gradients(grad: Tensor, x1: Tensor, x2: Tensor, result: Tensor) -> tuple[Tensor, Tensor]:
    ratio = (grad / result).masked_fill(result == 0, 0)
    of_x1 = x1 * ratio.sum(-1, keepdim=True) - ratio @ x2
    of_x2 = x2 * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ x1
    return of_x1, of_x2


@declare(variants="", node="EuclideanDistBackward0", derivatives={"x1, x2": _euclidean_gradients})
def euclidean_distances(xp: Any, x1: Array, x2: Array) -> Array:
    """√(‖x‖² − 2 x · y + ‖y‖²), as one product of matrices: fast, and inexact for points that are close together."""
    squares1, squares2 = ((x * x).sum(-1, keepdims=True) for x in (x1, x2))
    one1, one2 = xp.ones_like(squares1), xp.ones_like(squares2)
    left = xp.concatenate([-2 * x1, squares1, one1], -1)
    right = xp.concatenate([x2, one2, squares2], -1)
    return xp.sqrt(xp.maximum(left @ right.swapaxes(-1, -2), 0))


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
_MANY = 25  # rows, from which on a product of matrices is worth its inexactness


@composite(variants="function")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = _MODES[0]) -> Tensor:
    """‖x1ᵢ − x2ⱼ‖ₚ for all pairs of rows: (…, P, M), (…, R, M) → (…, P, R).

    Euclidean distances of more than 25 rows come from a product of matrices, unless `compute_mode` says otherwise.
    Raises RuntimeError for other than floating point numbers. https://pytorch.org/docs/stable/generated/torch.cdist.html
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, each in (("X1", x1), ("X2", x2)):
        if each.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {each.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, each in (("X1", x1), ("X2", x2)):
        if not each.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {type_name(each)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    clash = broadcast_clash(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    if clash is not None:
        raise clash
    many = max(x1.shape[-2], x2.shape[-2]) > _MANY
    if p == 2 and (compute_mode == _MODES[1] or (many and compute_mode != _MODES[2])):
        return euclidean_distances(x1, x2)
    return pairwise_distances(x1, x2, p)


@composite(variants="function")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x1 − x2 + ε‖ₚ along the last dimension.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.pairwise_distance.html
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@composite(variants="function")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(‖x1‖, ε) max(‖x2‖, ε)) along `dim`. The clamped norms keep the gradients of the true ones.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.cosine_similarity.html
    """
    common = result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is " + SCALAR_TYPES[common.name]
        )
    units = []
    for each in broadcast_tensors(x1, x2):
        each = each if each.is_floating_point() else each.to(common)
        size = vector_norm(each, 2, dim, True).clone()
        with no_grad():
            size.clamp_min_(eps)
        units.append(each / size)
    return (units[0] * units[1]).sum(dim)


def _pdist_gradient(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    first, second = self.new_ones((len(self), len(self))).triu(1).nonzero(as_tuple=True)
    grad, result = (each[:, None, None] for each in (grad, result))
    of_first, of_second = _cdist_gradients(grad, self[first].unsqueeze(1), self[second].unsqueeze(1), p, result)
    return (
        self.new_zeros(self.shape).index_add(0, first, of_first.squeeze(1)).index_add(0, second, of_second.squeeze(1))
    )


@declare(variants="", node="PdistBackward0", derivatives={"self": _pdist_gradient})
def condensed_distances(xp: Any, self: Array, p: float) -> Array:
    first, second = xp.triu_indices(len(self), 1)
    if not len(first) or not self.shape[1]:
        return xp.zeros(len(first), self.dtype)
    if self.dtype.itemsize == 2:
        raise not_implemented("pdist", self.dtype.name)
    return _distances(xp, self[first] - self[second], p)


@composite(variants="function")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """‖xᵢ − xⱼ‖ₚ for all pairs i < j of the rows of (N, M), as one vector of N (N − 1) / 2 elements.

    Raises RuntimeError for other than matrices of floating point numbers, and for negative p.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.pdist.html
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return condensed_distances(input, p)


for _function in (cosine_similarity, pairwise_distance, pdist):
    NAMESPACES["nn.functional"][_function.__name__] = _function
