"""Ops that put elements in order, or choose by rank. NaN is larger than everything; equal elements keep their order.

Source: https://pytorch.org/docs/stable/generated/torch.sort.html
"""

from __future__ import annotations

from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.overlap import NO_SOURCE
from minitorch.dtypes import FROM_NUMPY, float32, float64
from minitorch.kernels.running import running
from minitorch.layout import kept_strides, restrided
from minitorch.ops.reduction.extremum import all_to_the_chosen, chosen, shared, to_the_chosen
from minitorch.size import check_dim
from minitorch.tensor import Tensor

OUT = "function method out"


def order_of(xp: Any, self: Array, dim: int, descending: bool = False) -> Array:
    """The indices that sort along `dim`, equal elements in their order."""
    if FROM_NUMPY[self.dtype].is_low_precision:
        self = self.astype(xp.float32)
    if not descending:
        return xp.argsort(self, axis=dim, kind="stable")
    return self.shape[dim] - 1 - xp.flip(xp.argsort(xp.flip(self, dim), axis=dim, kind="stable"), dim)


def _refuse_complex(self: Array, name: str) -> None:
    if self.dtype.kind == "c":
        raise RuntimeError(f" {name} does not support complex dtypes on CPU")


@declare(
    variants="",
    aten="sort",
    node=lambda self, dim, descending, stable: "SortBackward0" if stable is None else "SortBackward1",
    outputs=return_types.sort,
    derivatives={"self": all_to_the_chosen},
)
def sorted_along(xp: Any, self: Array, dim: int, descending: bool, stable: bool | None = None) -> tuple[Array, Array]:
    _refuse_complex(self, "Sort")
    dim = check_dim(dim, self.ndim)
    if not self.ndim:
        return self.copy(), xp.zeros((), xp.int64)
    order = order_of(xp, self, dim, descending)
    results = chosen(xp, self, order, dim, True)
    values, indices = (restrided(xp, each, kept_strides(self, each.itemsize)) for each in results)
    return values, indices


@composite(variants="function method out")
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    """The elements in order along `dim` and the indices they had."""
    return sorted_along(input, dim, descending, stable)


@composite(variants="function method out")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """The indices that sort along `dim`: int64 of the shape of `input`."""
    return sorted_along(input, dim, descending, stable)[1]


@composite(variants="function method out")
def msort(input: Tensor) -> Tensor:
    """Sorted along the first dimension."""
    return sorted_along(input, 0, False)[0]


@declare(row_major=True, variants=OUT, outputs=return_types.topk, derivatives={"self": all_to_the_chosen})
def topk(xp: Any, self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """The k largest (or smallest) elements along `dim`, always in order."""
    dim = check_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[dim] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    _refuse_complex(self, "topk")
    if self.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not self.ndim:
        return (self.copy(), xp.zeros((), xp.int64)) if k else (xp.empty(0, self.dtype), xp.empty(0, xp.int64))
    size, front = self.shape[dim], (*(slice(None),) * dim, slice(k))
    if self.size < MANY or 8 * k > size:
        order = order_of(xp, self, dim, descending=largest)
        return chosen(xp, self, order[front].copy(), dim, True)
    places = _partition(xp, self, size - k if largest else k, dim)
    places = xp.sort(places[(*front[:-1], slice(size - k, None) if largest else slice(k))], axis=dim)
    order = order_of(xp, xp.take_along_axis(self, places, axis=dim), dim, descending=largest)
    return chosen(xp, self, xp.take_along_axis(places, order, axis=dim), dim, True)


MANY = 2**14
"""From this number of elements on they aren't all sorted to find those of some rank; equal ones come in any order."""


def _partition(xp: Any, self: Array, rank: int, dim: int) -> Array:
    """The indices along `dim`: at `rank` that of the element of the rank, before it smaller ones', after it larger."""
    if FROM_NUMPY[self.dtype].is_low_precision:
        self = self.astype(xp.float32)
    return xp.argpartition(self, rank, axis=dim)


def _ranked(xp: Any, name: str, self: Array, rank: Any, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The element of a rank (an int, or one for each row) along `dim`, and its index."""
    if not self.ndim:
        return self.copy(), xp.zeros((), xp.int64)
    if not self.shape[dim]:
        raise IndexError(f"{name.removeprefix('nan')}(): Expected reduction dim {dim} to have non-zero size.")
    if isinstance(rank, int):
        order = _partition(xp, self, rank, dim) if self.size >= MANY else order_of(xp, self, dim)
        places = order[(*(slice(None),) * dim, slice(rank, rank + 1))].copy()
    else:
        places = xp.take_along_axis(order_of(xp, self, dim), rank, axis=dim)
    return chosen(xp, self, places, dim, keepdim)


@declare(
    overlap=(NO_SOURCE,),
    row_major=True,
    variants=OUT,
    outputs=return_types.kthvalue,
    derivatives={"self": to_the_chosen},
)
def kthvalue(xp: Any, self: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The k-th smallest element along `dim`, and its int64 index.

    Raises RuntimeError for a k out of range, NotImplementedError for bool and complex numbers.
    """
    dim = check_dim(dim, self.ndim)
    if self.ndim and not self.shape[dim]:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= (self.shape[dim] if self.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    if self.ndim and self.dtype.kind in "cb":
        raise not_implemented("kthvalue_cpu", self.dtype.name)
    return _ranked(xp, "kthvalue", self, k - 1, dim, keepdim)


def _median(xp: Any, name: str, self: Array, dim: int, keepdim: bool, ignore_nan: bool) -> tuple[Array, Array]:
    """The lower of the two middle elements along `dim`, or NaN where there is one and it isn't ignored."""
    dim = check_dim(dim, self.ndim)
    if self.dtype.kind in "cb" and (not self.ndim or self.shape[dim]):
        raise not_implemented("median_out", self.dtype.name)
    if not self.ndim or not self.shape[dim]:
        return _ranked(xp, name, self, 0, dim, keepdim)
    size = self.shape[dim]
    absent = self != self
    if self.size >= MANY and not absent.any():
        values, places = _ranked(xp, name, self, (size - 1) // 2, dim, keepdim)
        return values, xp.asarray(places, order="C")
    missing = xp.sum(absent, axis=dim, keepdims=True)
    if ignore_nan:
        rank = xp.maximum(size - missing - 1, 0) // 2
    else:
        rank = xp.where(missing > 0, size - missing, (size - 1) // 2)
    return _ranked(xp, name, self, rank, dim, keepdim)


def _median_op(name: str, ignore_nan: bool) -> tuple[Any, Any]:
    """The ops `name()` of all elements and `name(dim)`, whose kernels differ in what NaN means."""
    node = name.capitalize()

    @declare(variants="", node=f"{node}Backward0", derivatives={"self": shared})
    def of_all(xp: Any, self: Array) -> Array:
        if not self.size:
            return xp.full((), float("nan"), self.dtype)
        if self.dtype.kind in "cb":
            raise not_implemented("median_cpu", self.dtype.name)
        return _median(xp, name, self.reshape(-1), 0, False, ignore_nan)[0]

    @declare(
        variants="", node=f"{node}Backward1", outputs=getattr(return_types, name), derivatives={"self": to_the_chosen}
    )
    def along(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        return _median(xp, name, self, dim, keepdim, ignore_nan)

    return of_all, along


_median_of, _median_along = _median_op("median", False)
_nanmedian_of, _nanmedian_along = _median_op("nanmedian", True)


@composite(variants="function method out")
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median; along `dim` with its index."""
    return _median_of(input) if dim is None else _median_along(input, dim, keepdim)


@composite(variants="function method out")
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of what isn't NaN."""
    return _nanmedian_of(input) if dim is None else _nanmedian_along(input, dim, keepdim)


@declare(row_major=True, variants=OUT, outputs=return_types.mode, derivatives={"self": to_the_chosen})
def mode(xp: Any, self: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent element along `dim`, the smallest of several, and an int64 index of it.

    Raises NotImplementedError for complex numbers.
    """
    dim = check_dim(dim, self.ndim)
    if not self.ndim or not self.shape[dim]:
        return _ranked(xp, "mode", self, 0, dim, keepdim)
    if self.dtype.kind == "c" and self.size:
        raise not_implemented("mode_cpu", self.dtype.name)
    order = xp.moveaxis(order_of(xp, self, dim), dim, -1)
    values = xp.take_along_axis(xp.moveaxis(self, dim, -1), order, axis=-1)
    positions = xp.arange(values.shape[-1])
    starts = xp.where(values[..., 1:] != values[..., :-1], positions[1:], 0)
    first = xp.concatenate([xp.zeros((*values.shape[:-1], 1), positions.dtype), starts], axis=-1)
    run = positions - running(xp, xp.maximum, first, -1)  # how many equal ones came before
    ends = xp.expand_dims(xp.argmax(run, axis=-1), -1)
    return chosen(xp, self, xp.moveaxis(xp.take_along_axis(order, ends, axis=-1), -1, dim), dim, keepdim)


def _quantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool) -> Tensor:
    if input._dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = input.new_full((), q)
    elif q._dtype is not input._dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    elif q.is_cpu and q.numel() and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if dim is None:
        rows = input.reshape([1] * (input.dim() * keepdim) + [-1])
    elif keepdim or not input.dim():
        rows = input.unsqueeze(-1).transpose(check_dim(dim, input.dim()), -1)
    else:
        rows = input.movedim(dim, -1)
    size = rows.shape[-1]
    missing = rows.isnan().sum(-1, keepdim=True)
    ordered = sorted_along(rows, -1, False)[0]
    wanted = q.reshape(-1)
    if ignore_nan:
        ranks = (size - 1 - missing).clamp(min=0) * wanted
    else:
        ranks = (wanted * (size - 1)).expand(*missing.shape[:-1], -1).masked_fill(missing > 0, size - 1)
    if interpolation != "linear" and interpolation != "midpoint":
        ranks = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
    low = ranks.floor()
    weights = ranks - low if interpolation != "midpoint" else (ranks > low) * 0.5
    below, above = (ordered.gather(-1, each.long()) for each in (low, ranks.ceil()))
    result = below.lerp(above, weights.to(below.dtype))
    if not q.dim():
        return result.squeeze_(-1)
    return result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)


@composite(autocast="float32", variants="function method out")
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-quantiles along `dim`; NaN where there is one."""
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=False)


@composite(autocast="float32", variants="function method out")
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-quantiles of what isn't NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=True)
