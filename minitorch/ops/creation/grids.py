"""Grids: coordinates of all points, of triangles, and of flat indices; powers of coordinates.

Source: https://pytorch.org/docs/stable/generated/torch.meshgrid.html
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.arrays import Array
from minitorch.devices import tensor_device
from minitorch.dispatch.declaration import composite
from minitorch.dispatch.errors import not_implemented
from minitorch.dtypes import FLOATING, INTEGER, SCALAR_TYPES, int32, int64
from minitorch.layout import check_layout, strided
from minitorch.ops.creation.factory import checked_dtype, finish
from minitorch.ops.indexing.joining import cat
from minitorch.ops.naming import called
from minitorch.size import as_int
from minitorch.tensor import Tensor


def _row_by_row(xp: Any, rows: int, columns: int, offset: int, lower: bool) -> Array:
    """The places of a triangle: in each row one after the other, from the first column on or up to the last."""
    number = xp.arange(rows)
    edge = xp.clip(number + offset + lower, 0, columns)
    first, count = (0, edge) if lower else (edge, columns - edge)
    before = xp.cumsum(count) - count
    result = xp.empty((2, int(count.sum())), "int64")
    result[0] = xp.repeat(number, count)
    xp.add(xp.arange(result.shape[1]), xp.repeat(first - before, count), out=result[1])
    return result


def _triangle(name: str, explanation: str) -> Any:
    """Makes `tril_indices` or `triu_indices`, whose arguments are the same."""
    explanation += (
        "\n\n    They are int64, or int32 if `dtype` says so. Raises RuntimeError for a negative size,\n    "
        "NotImplementedError for another dtype."
    )

    @composite(variants="function")
    @called(name, explanation)
    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        layout: Any = strided,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        check_layout(name, layout)
        for label, size in (("row", row), ("col", col)):
            if as_int(size) < 0:
                raise RuntimeError(f"{label} must be non-negative, got{size}")
        kind = checked_dtype(name, dtype) or int64
        if kind not in (int32, int64):
            raise not_implemented(name, kind.name)
        where = tensor_device(device)
        with where.active():
            places = _row_by_row(where.xp, row, col, as_int(offset), name == "tril_indices")
            places = places.astype(kind.numpy, copy=False)
        return finish(places, where, requires_grad, pin_memory)

    return indices


tril_indices = _triangle(
    "tril_indices", "The rows and columns, (2, n), of the elements on and below a diagonal of a (row, col) matrix."
)
triu_indices = _triangle(
    "triu_indices", "The rows and columns, (2, n), of the elements on and above a diagonal of a (row, col) matrix."
)

_unasked = True


@composite(variants="function")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Of vectors of n₀, n₁, … coordinates, their grids (n₀, n₁, …), as expanded views; with "xy" (n₁, n₀, …).

    Returns a tuple of tensors. Raises RuntimeError for other numbers of dimensions, different dtypes or an unknown
    `indexing`, TypeError for what is no tensor.
    https://pytorch.org/docs/stable/generated/torch.meshgrid.html
    """
    global _unasked
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    for index, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(f"expected Tensor as element {index} in argument 0, but got {type(each).__name__}")
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None and _unasked:
        _unasked = False
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
            stacklevel=3,
        )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for each in tensors:
        if each.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if each.device is not tensors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
        if each.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {each}")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[:2] = 1, 0
    shape = [tensors[place].numel() for place in order]
    return tuple(
        each.view([-1 if dim == place else 1 for dim in range(len(shape))]).expand(shape)
        for each, place in zip(tensors, order, strict=True)
    )


def _powers(x: Tensor, N: int) -> Tensor:
    """x⁰, x¹, … xᴺ⁻¹ along a new last dimension, each the one before times x."""
    if N == 0:
        return x.new_empty((*x.shape, 0))
    one = x.new_ones((*x.shape, 1))
    if N == 1:
        return one
    return cat([one, x.unsqueeze(-1).expand(*x.shape, N - 1).cumprod(-1)], -1)


@composite(variants="function")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: row i holds xᵢᴺ⁻¹, … xᵢ, 1, or the same in increasing order: (n,) → (n, N).

    N = n by default. Raises RuntimeError for another number of dimensions, or a negative N.
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and as_int(N) < 0:
        raise RuntimeError("N must be non-negative.")
    x = x if x.dtype.category >= FLOATING else x.long()
    powers = _powers(x, x.numel() if N is None else N).to(x.dtype)  # autocast makes products float32
    return powers if increasing else powers.flip(1)


@composite(variants="function", namespace="linalg")
@called("vander")
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The Vandermonde matrices of vectors: (…, n) → (…, n, N), rows 1, xᵢ, … xᵢᴺ⁻¹, N = n by default.

    Raises RuntimeError for an N below 2.
    """
    kind = x.dtype
    if not kind.category or kind.is_low_precision:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got " + SCALAR_TYPES[kind.name]
        )
    if N is None:
        N = x.shape[-1] if x.dim() else 1
    if N < 2:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x if x.dim() else x.unsqueeze(0), N)


@composite(variants="function")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, a tensor for each dimension of `shape`, of flat row-major indices.

    They are int64, of the shape of `indices`. Raises TypeError for indices or a shape that aren't integers, ValueError
    for a negative size.
    """
    if indices.dtype.category != INTEGER:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    steps = indices.new_tensor([math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))], dtype=int64)
    places = indices.unsqueeze(-1).div(steps, rounding_mode="floor") % indices.new_tensor(sizes, dtype=int64)
    return places.unbind(-1)
