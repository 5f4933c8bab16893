"""Ops that fold dimensions away."""

from __future__ import annotations

from typing import Any

from minitorch.backend import Array
from minitorch.ops.declaration import declare

Dims = Any


def dims_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions meant by an argument `dim`, counted from the front: None and () mean all of them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    return tuple(d % ndim if ndim else 0 for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def unreduced(grad: Any, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Any:
    """`grad` of a reduction's result, with the reduced dimensions back as ones, so that it broadcasts to `shape`."""
    if keepdim or not shape:
        return grad
    dims = dims_of(dim, len(shape))
    return grad.reshape([1 if d in dims else size for d, size in enumerate(shape)])


@declare(
    promotion="keep",
    upcast=True,
    variants="function method out",
    derivatives={
        "self": lambda grad, self_shape, dim, keepdim: unreduced(grad, self_shape, dim, keepdim).expand(self_shape),
    },
    node=lambda self, dim, keepdim, dtype: "SumBackward0" if dim is None else "SumBackward1",
)
def sum(xp: Any, self: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    """Σ of the elements along `dim`. https://pytorch.org/docs/stable/generated/torch.sum.html"""
    kind = dtype.numpy if dtype is not None else xp.int64 if self.dtype.kind in "biu" else None
    return xp.sum(self, axis=None if dim is None else dims_of(dim, self.ndim), dtype=kind, keepdims=keepdim)
