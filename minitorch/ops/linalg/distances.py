"""Distances between vectors, and the norm by its older name. Source: https://pytorch.org/docs/stable/torch.html"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from minitorch.arrays import Array, Double
from minitorch.autograd.grad_mode import no_grad
from minitorch.dispatch.apply import function_of, write_out
from minitorch.dispatch.declaration import NAMESPACES, OPS, composite, declare
from minitorch.dispatch.derived import derived
from minitorch.dispatch.errors import broadcast_clash, not_implemented
from minitorch.dispatch.promotion import result_type
from minitorch.dtypes import FROM_NUMPY, SCALAR_TYPES, bool_, type_name
from minitorch.ops.linalg.norms import _vector_norm_gradient, matrix_norm, vector_norm
from minitorch.ops.pointwise.arithmetic import TWO_BOOLS
from minitorch.ops.views.broadcasting import broadcast_tensors
from minitorch.tensor import Tensor

_BLOCK = 1 << 16  # differences that are held at a time


@composite(variants="function method", autocast_on_gpu="float32 results")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over the dimensions `dim`, or all; for p = "nuc" the sum of a matrix' singular values."""
    if isinstance(p, str) and p != "fro":
        result = matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    else:
        result = vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)
    return result if out is None else write_out("norm", out, result)


def _dist_gradient(grad: Tensor, self: Tensor, other: Tensor, p: float, result: Tensor) -> Any:
    return _vector_norm_gradient(grad, self - other, p, None, False, result)


def _dist_gradient_of_other(grad: Tensor, self: Tensor, other: Tensor, p: float, result: Tensor) -> Any:
    return _dist_gradient(grad, other, self, p, result)


@declare(
    promotion="keep",
    upcast=True,
    derivatives={"self": _dist_gradient, "other": _dist_gradient_of_other},
    autocast_on_gpu="float32",
)
def dist(xp: Any, self: Array, other: Array, p: float = 2) -> Array:
    """‖self − other‖ₚ over all elements."""
    if self.dtype.kind == "b":
        raise RuntimeError(TWO_BOOLS)
    if self.dtype.kind in "iu":
        kind = SCALAR_TYPES[self.dtype.name]
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {kind} instead.")
    return OPS["vector_norm"].kernel(xp, xp.asarray(self - other), p, None, False, None)


def _tiles(rows: int, columns: int, width: int, upper: bool = False) -> Iterator[tuple[slice, slice]]:
    """Pieces of a table of distances whose differences, of `width` elements each, fit in the cache.

    `upper` leaves out what lies below the diagonal.
    """
    across = min(max(_BLOCK // max(width, 1), 1), columns)
    down = max(_BLOCK // max(across * width, 1), 1)
    for top in range(0, rows, down):
        for left in range(top if upper else 0, columns, across):
            yield slice(top, top + down), slice(left, left + across)


def _distances(xp: Any, apart: Array, p: float) -> Array:
    """(Σ |apart|ᵖ)^(1/p) along the last dimension."""
    if p == 2:
        return xp.sqrt(apart[..., None, :] @ apart[..., None])[..., 0, 0]
    if math.isinf(p):
        return xp.abs(apart).max(-1)
    size = (apart != 0).astype(apart.dtype) if p == 0 else xp.abs(apart)
    total = (size if p in (0, 1) else size**p) @ xp.ones(apart.shape[-1], apart.dtype)
    return total if p in (0, 1) else total ** (1 / p)


def _slopes(grad_output: Tensor, x1: Tensor, x2: Tensor, p: float, distance: Tensor) -> tuple[Tensor, Tensor]:
    """`distance_gradients` in tensors, all pairs at once: its own derivatives come from here."""
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    grad, distance = grad_output.unsqueeze(-1), distance.unsqueeze(-1)
    size, same = apart.abs(), distance == 0
    if math.isinf(p):
        slope = grad * apart.sgn() * (size == distance)
    else:
        rise = apart if p == 2 else apart.sgn() * size.masked_fill(size == 0, 1).pow(p - 1)
        slope = rise * (grad / distance.masked_fill(same, 1).pow(p - 1)).masked_fill(same | (p == 0), 0)
    return slope.sum(-2), -slope.sum(-3)


@declare(variants="", derivatives=derived("grad_output, x1, x2, distance", _slopes))
def distance_gradients(
    xp: Any, grad_output: Array, x1: Array, x2: Array, p: float, distance: Array, upper: bool
) -> tuple[Array, Array]:
    """What a table of distances passes on to the points: zero wherever it is zero or infinitely steep."""
    batch = distance.shape[:-2]
    of_x1 = xp.zeros((*batch, *x1.shape[-2:]), x1.dtype)
    of_x2 = xp.zeros((*batch, *x2.shape[-2:]), x2.dtype)
    if p == 0 or not distance.size:
        return of_x1, of_x2
    for down, across in _tiles(x1.shape[-2], x2.shape[-2], x1.shape[-1] * math.prod(batch), upper):
        slope = x1[..., down, None, :] - x2[..., None, across, :]
        grad, far = grad_output[..., down, across], distance[..., down, across]
        if math.isinf(p):
            slope = xp.sign(slope) * (xp.abs(slope) == far[..., None])
        else:
            grad = xp.where(far == 0, 0, grad / xp.where(far == 0, 1, far) ** (p - 1))
            if p < 1:
                slope[slope == 0] = xp.inf  # whose negative power is zero
            if p != 2:
                slope = xp.sign(slope) if p == 1 else xp.sign(slope) * xp.abs(slope) ** (p - 1)
        slope *= grad[..., None]
        of_x1[..., down, :] += (xp.ones((1, slope.shape[-2]), slope.dtype) @ slope)[..., 0, :]
        of_x2[..., across, :] -= slope.sum(-3)
    return of_x1, of_x2


@declare(
    variants="",
    node="CdistBackward0",
    derivatives={"x1, x2": lambda grad, x1, x2, p, result: distance_gradients(grad, x1, x2, p, result, False)},
)
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
    for down, across in _tiles(rows, others, x1.shape[-1] * math.prod(batch)):
        result[..., down, across] = _distances(xp, x1[..., down, None, :] - x2[..., None, across, :], p)
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


@composite(autocast="float32", variants="function")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = _MODES[0]) -> Tensor:
    """‖x1ᵢ − x2ⱼ‖ₚ for all pairs of rows: (…, P, M), (…, R, M) → (…, P, R).

    `compute_mode` chooses in PyTorch whether ‖·‖₂ is found by a matrix product; the result here is the same.
    Raises RuntimeError for other shapes or a negative p, ValueError for an unknown `compute_mode`.
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, each in (("X1", x1), ("X2", x2)):
        if each.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {each.dim()}D")
        if not each.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {type_name(each)}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    clash = broadcast_clash(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    if clash is not None:
        raise clash
    many = max(x1.shape[-2], x2.shape[-2]) > _MANY
    if p == 2 and (compute_mode == _MODES[1] or (many and compute_mode != _MODES[2])):
        return euclidean_distances(x1, x2)
    return pairwise_distances(x1, x2, p)


_norm = function_of(OPS["vector_norm"].twin("NormBackward1"), with_out=False)


@composite(variants="function")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x1 − x2 + ε‖ₚ along the last dimension.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.pairwise_distance.html
    """
    return _norm(x1 - x2 + eps, p, -1, keepdim)


@composite(variants="function", autocast_on_gpu="float32")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(‖x1‖, ε) max(‖x2‖, ε)) along `dim`, which is removed from the shape that x1 and x2 broadcast to.

    The clamped norms keep the gradients of the true ones. Raises RuntimeError for integers and shapes that don't
    broadcast.
    """
    common = result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is " + SCALAR_TYPES[common.name]
        )
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    units = []
    for each in broadcast_tensors(x1, x2):
        each = each if each.is_floating_point() else each.to(common)
        size = vector_norm(each, 2, dim, True).clone()
        with no_grad():
            size.clamp_min_(eps)
        units.append(each / size)
    return (units[0] * units[1]).sum(dim)


def _pdist_gradient(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    """That of a table of all distances, of which the triangle above the diagonal counts."""
    above = self.new_ones((len(self), len(self)), dtype=bool_).triu(1)
    grads, distances = (self.new_zeros(above.shape).masked_scatter(above, each) for each in (grad, result))
    of_first, of_second = distance_gradients(grads, self, self, p, distances, True)
    return of_first + of_second


@declare(variants="function", autocast_on_gpu="float32", derivatives={"self": _pdist_gradient})
def pdist(xp: Any, self: Array, p: Double = 2.0) -> Array:
    """‖xᵢ − xⱼ‖ₚ for all pairs i < j of the rows of (N, M), as one vector of N (N − 1) / 2 elements.

    Raises RuntimeError unless the input is 2-D and floating and p ≥ 0, NotImplementedError for two-byte floats.
    """
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if not FROM_NUMPY[self.dtype].is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows, width = self.shape
    if rows > 1 and width and self.dtype.itemsize == 2:
        raise not_implemented("pdist", self.dtype.name)
    self, table = xp.ascontiguousarray(self), xp.zeros((rows, rows), self.dtype)
    for down, across in _tiles(rows, rows, width, upper=True) if width else ():
        table[down, across] = _distances(xp, self[down, None] - self[None, across], p)
    return xp.concatenate([table.reshape(-1)[:0], *(table[row, row + 1 :] for row in range(rows))])


for _function in (cosine_similarity, pairwise_distance, pdist):
    NAMESPACES["nn.functional"][_function.__name__] = _function
