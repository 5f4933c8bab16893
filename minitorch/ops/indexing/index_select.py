"""Ops that read, write and add whole slices at a vector of indices; and those that index the flattened tensor.

Source: https://pytorch.org/docs/stable/generated/torch.index_select.html
"""

from __future__ import annotations

from typing import Any

from minitorch import settings
from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import declare
from minitorch.dispatch.overlap import NO_SOURCE
from minitorch.dtypes import FROM_NUMPY, int32, int64, type_name
from minitorch.kernels.accumulation import add_at, checked_places
from minitorch.ops.indexing.gather_scatter import ALL, BOTH, reduce_at, scatter_reduce_backward
from minitorch.scalars import to_scalar
from minitorch.size import check_dim
from minitorch.tensor import Tensor


def _check_vector(name: str, index: Array) -> None:
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if FROM_NUMPY[index.dtype] not in (int64, int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {type_name(index)}")


def _places(xp: Any, self: Array, dim: int, index: Array) -> tuple[Any, ...]:
    """The NumPy index of the slices at `index` along `dim`. Raises IndexError for one that doesn't exist."""
    index = index.reshape(-1)
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < self.shape[dim]:
        raise IndexError("index out of range in self")
    return (*(slice(None),) * dim, index)


@declare(
    overlap=(NO_SOURCE,),
    variants="function method out",
    derivatives={"self": lambda grad, self_shape, dim, index: grad.new_zeros(self_shape).index_add(dim, index, grad)},
)
def index_select(xp: Any, self: Array, dim: int, index: Array) -> Array:
    """The slices at a vector of indices along `dim`."""
    _check_vector("index_select", index)
    dim = check_dim(dim, self.ndim)
    if not self.ndim and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    places = _places(xp, self if self.ndim else self.reshape(1), dim, index)
    return xp.take(self, places[dim], axis=dim) if self.ndim else self.copy()


def _source(name: str, self: Array, dim: int, index: Array, source: Array) -> None:
    _check_vector(name, index)
    if self.dtype != source.dtype:
        one, other = (type_name(each) for each in (self, source))
        raise RuntimeError(f"{name}(): self ({one}) and source ({other}) must have the same scalar type")
    if not source.ndim and index.size > 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if source.ndim and dim >= source.ndim:
        raise RuntimeError(f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.ndim}")
    count = source.shape[dim] if source.ndim else 1
    if index.size != count:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {dim}"
        )
    rest, given = list(self.shape), list(source.shape)
    if len(rest) != len(given) or rest[:dim] + rest[dim + 1 :] != given[:dim] + given[dim + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{rest} source.shape = {given}"
        )


@declare(
    keyword_only="alpha",
    overlap=(NO_SOURCE,),
    variants=ALL,
    edits=True,
    derivatives={
        "self": lambda grad: grad,
        "source": lambda grad, source, dim, index, alpha: _taken(grad, source.shape, dim, index) * alpha,
    },
)
def index_add(xp: Any, self: Array, dim: int, index: Array, source: Array, alpha: Number = 1) -> Array:
    """Adds alpha · `source` to the slices at a vector of indices. https://pytorch.org/docs/stable/generated/torch.Tensor.index_add_.html"""
    dim = check_dim(dim, self.ndim)
    _source("index_add_", self, dim, index, source)
    target = self if self.ndim else self.reshape(1)
    if not source.size or (target.ndim > 1 and not target.size):
        return self
    places = _places(xp, target, dim, index)
    if alpha != 1:
        source = (source * to_scalar(alpha, FROM_NUMPY[self.dtype])).astype(self.dtype, copy=False)
    add_at(xp, target, places, source if self.ndim else source.reshape(1))
    return self


def _taken(grad: Tensor, shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor:
    return grad.index_select(dim, index).reshape(shape)


def _check_copy(self: Array, dim: int, index: Array, source: Array) -> None:
    """Raises IndexError or RuntimeError for what `index_copy` can't copy."""
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim and self.ndim and source.ndim != self.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if FROM_NUMPY[index.dtype] is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {type_name(index)}")
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {type_name(self)} and "
            f"(source) {type_name(source)}"
        )
    sliced, given = (" ".join(map(str, (*each.shape[:dim], *each.shape[dim + 1 :]))) for each in (self, source))
    if sliced != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{sliced} at dimension {dim} and source slice shape: {given} at dimension 0."
        )
    count = source.shape[dim] if source.ndim else 1
    if index.size != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({count})"
        )


@declare(
    overlap=(NO_SOURCE,),
    autocast="widest",
    variants=ALL,
    edits=True,
    derivatives={
        "self": lambda grad, dim, index: grad.index_fill(dim, index, 0),
        "source": lambda grad, source, dim, index: _taken(grad, source.shape, dim, index),
    },
    autocast_on_gpu="",
)
def index_copy(xp: Any, self: Array, dim: int, index: Array, source: Array) -> Array:
    """Writes `source` to the slices at a vector of indices. https://pytorch.org/docs/stable/generated/torch.Tensor.index_copy_.html"""
    dim = check_dim(dim, self.ndim)
    _check_copy(self, dim, index, source)
    target = self if self.ndim else self.reshape(1)
    if source.size:
        target[_places(xp, target, dim, index)] = source if self.ndim else source.reshape(1)
    return self


@declare(
    overlap=(NO_SOURCE,),
    on_expanded=("index_fill_", "tensor[mask] = scalar"),
    written_value="value",
    variants=BOTH,
    edits=True,
    elementwise=True,
    derivatives={
        "self": lambda grad, dim, index: grad.index_fill(dim, index, 0),
        "value": lambda grad, dim, index: grad.index_select(dim, index.unique()).sum(),
    },
    node=lambda self, dim, index, value: f"IndexFillBackward{int(isinstance(value, Tensor))}",
)
def index_fill(xp: Any, self: Array, dim: int, index: Array, value: Array | Number) -> Array:
    """Writes one number to the slices at a vector of indices. https://pytorch.org/docs/stable/generated/torch.Tensor.index_fill_.html"""
    _check_vector("index_fill_", index)
    if hasattr(value, "ndim") and value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    is_complex = isinstance(value, complex) or (hasattr(value, "dtype") and value.dtype.kind == "c")
    if is_complex and self.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    dim, kind = check_dim(dim, self.ndim), FROM_NUMPY[self.dtype]
    target = self if self.ndim else self.reshape(1)
    if 0 not in (*target.shape[:dim], index.size, *target.shape[dim + 1 :]):
        places = checked_places(xp, index.reshape(-1), target.shape[dim], dim)
        target[(*(slice(None),) * dim, places)] = value if hasattr(value, "ndim") else to_scalar(value, kind)
    return self


@declare(
    keyword_only="include_self",
    overlap=(NO_SOURCE,),
    variants=ALL,
    edits=True,
    derivatives={
        "self, source": lambda grad, self, dim, index, source, reduce, include_self, result: scatter_reduce_backward(
            grad, self, dim, _for_each(index, source, dim), source, reduce, include_self, result, "index_reduce"
        )
    },
)
def index_reduce(
    xp: Any, self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True
) -> Array:
    """Folds `source` into the slices at a vector of indices: "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = check_dim(dim, self.ndim)
    _source("index_reduce_", self, dim, index, source)
    target = self if self.ndim else self.reshape(1)
    places = _places(xp, target, dim, index)
    reduce_at(xp, target, places, source if self.ndim else source.reshape(1), reduce, include_self)
    return self


def _for_each(index: Tensor, source: Tensor, dim: int) -> Tensor:
    """A vector of indices along `dim`, as index of every element of `source`."""
    return index.reshape([-1 if d == dim % source.dim() else 1 for d in range(source.dim())]).expand(source.shape)


def _flat_places(xp: Any, self: Array, index: Array, name: str) -> Array:
    if FROM_NUMPY[index.dtype] is not int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {type_name(index)}")
    if index.size and not self.size:
        tried = "tried to take from an" if name == "take" else "Tried to put elements into an"
        raise IndexError(f"{name}(): {tried} empty tensor")
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < -self.size or high >= self.size:
            wrong = low if low < -self.size else high
            raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {self.size} elements.")
    return xp.where(index < 0, index + self.size, index)


@declare(
    overlap=(NO_SOURCE,),
    variants="function method out",
    derivatives={"self": lambda grad, self, index: grad.new_zeros(self.shape).put(index, grad, accumulate=True)},
)
def take(xp: Any, self: Array, index: Array) -> Array:
    """The elements at indices of the flattened tensor."""
    return xp.take(self.reshape(-1), _flat_places(xp, self, index, "take"))


@declare(
    overlap=(NO_SOURCE,),
    variants=BOTH,
    edits=True,
    elementwise=True,
    derivatives={
        "self": lambda grad, index, accumulate: grad if accumulate else grad.put(index, grad.new_zeros(index.shape)),
        "source": lambda grad, source, index: grad.take(index).reshape(source.shape),
    },
)
def put(xp: Any, self: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """Writes or adds `source` at indices, int64 of its number of elements, of the flattened tensor.

    Raises IndexError for an index out of range or another number of elements, RuntimeError for other dtypes.
    https://pytorch.org/docs/stable/generated/torch.Tensor.put_.html
    """
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_name(self)} and "
            f"source.dtype = {type_name(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if not accumulate:
        settings.alert_not_deterministic("put_")
    flat = _flat_places(xp, self, index, "put_").reshape(-1)
    target = self if self.ndim else self.reshape(1)
    places = xp.unravel_index(flat, target.shape)
    if accumulate:
        add_at(xp, target, places, source.reshape(-1))
    else:
        target[places] = source.reshape(-1)
    return self
