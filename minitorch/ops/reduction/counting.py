"""Ops that count elements, tell them apart, or find their place among sorted ones.

Source: https://pytorch.org/docs/stable/generated/torch.unique.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import no_derivative, no_formula, not_implemented
from minitorch.dispatch.promotion import is_number
from minitorch.dtypes import FLOATING, FROM_NUMPY, c_type_name, int64
from minitorch.ops.creation.data import tensor
from minitorch.size import check_dim
from minitorch.tensor import Tensor


@declare(
    variants="",
    aten=lambda self, dim: "_unique2" if dim is None else "unique_dim",
    node=lambda self, dim: "Unique2Backward0" if dim is None else "UniqueDimBackward0",
    derivatives={"self": no_formula("unique")},
)
def different(xp: Any, self: Array, dim: int | None) -> tuple[Array, Array, Array]:
    if self.dtype.kind == "c":
        raise not_implemented("unique", self.dtype.name)
    dim = None if dim is None else check_dim(dim, self.ndim)
    values, inverse, counts = xp.unique(self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    return values, inverse.reshape(self.shape if dim is None else -1), counts


def _requested(results: tuple[Tensor, ...], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    chosen = [values] + [inverse] * return_inverse + [counts] * return_counts
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


@composite()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements (or slices along `dim`) in order; where each is among them; how often each occurs."""
    return _requested(different(input, dim), return_inverse, return_counts)


@declare(
    variants="",
    aten="unique_consecutive",
    node="UniqueConsecutiveBackward0",
    derivatives={"self": no_formula("unique_consecutive")},
)
def unique_runs(xp: Any, self: Array, dim: int | None, with_inverse: bool) -> tuple[Array, Array, Array]:
    rows = self.reshape(-1) if dim is None else xp.moveaxis(self, check_dim(dim, self.ndim), 0)
    size = rows.shape[0]
    differs = rows[1:] != rows[:-1]
    differs = differs.any(axis=tuple(range(1, rows.ndim))) if rows.ndim > 1 else differs
    starts = xp.concatenate([xp.ones(min(size, 1), bool), differs])
    first = xp.nonzero(starts)[0]
    counts = xp.diff(xp.concatenate([first, xp.asarray([size])]))
    values = rows[first] if dim is None else xp.moveaxis(rows[first], 0, dim)
    if not with_inverse:  # most don't ask for it, and it takes longer than the rest
        return values, first, counts
    inverse = xp.cumsum(starts) - 1
    return values, inverse if dim is not None else inverse.reshape(self.shape), counts


@composite()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One element for each run of equal ones."""
    return _requested(unique_runs(input, dim, return_inverse), return_inverse, return_counts)


@declare()
def bincount(xp: Any, self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each of 0, 1, … occurs in a vector of integers, int64 of size max + 1 or `minlength`.

    With `weights`, their sum for each number. Raises RuntimeError for another number of dimensions or negative ones,
    NotImplementedError for other dtypes.
    """
    kind = FROM_NUMPY[self.dtype]
    if kind.category >= FLOATING or kind.category == 0:
        raise not_implemented("bincount_cpu", kind.name)
    if self.ndim != 1 or (self.size and int(self.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is None:
        return xp.bincount(self, minlength=minlength)
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    sums = xp.bincount(self, weights.astype("float64"), minlength)
    return sums.astype("float32") if weights.dtype == "float32" else sums


def _check_count(bins: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def _ends(xp: Any, self: Array, range: Any) -> tuple[float, float]:
    """The ends of a histogram: the range, or the numbers' own, or 0 and 1 of no numbers; equal ones are parted."""
    if range is not None and len(range) != 2:
        raise RuntimeError(
            f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}"
        )
    low, high = (float(each) for each in range or ((self.min(), self.max()) if self.size else (0, 1)))
    if not (xp.isfinite(low) and xp.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0"
        )
    return (low, high) if low < high else (low - 0.5, high + 0.5)


@declare(variants="function method out")
def histc(xp: Any, self: Array, bins: int = 100, min: Number = 0, max: Number = 0) -> Array:
    """How many elements fall in each of `bins` equal parts of [min, max]: a vector of that size.

    It has the dtype of `input`. Raises RuntimeError for no bins or an infinite range, NotImplementedError for other
    dtypes than floats.
    """
    kind = FROM_NUMPY[self.dtype]
    _check_count(bins)
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if min == max and self.size:
        if kind.is_complex:
            raise not_implemented("aminmax_cpu", kind.name)
        min, max = float(self.min()), float(self.max())
    if not (xp.isfinite(min) and xp.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    if not kind.is_floating_point:
        raise not_implemented("linspace_cpu" if kind.name == "bool" else "histogram_cpu", kind.name)
    low, high = (min, max) if min < max else (min - 1, max + 1)
    inside = self[(self >= low) & (self <= high)]
    number = self.dtype.type  # PyTorch rounds to the elements' type after each step
    places = (inside - number(low)) * number(bins) / number(number(high) - number(low))
    places = xp.minimum(places.astype(xp.int64), bins - 1)
    return xp.bincount(places, minlength=bins).astype(self.dtype)


@declare(variants="")
def insertion_points(xp: Any, boundaries: Array, self: Array, right: bool) -> Array:
    def among(row: Array, values: Array) -> Array:
        if row.dtype.kind != "f" or not xp.isnan(row).any():
            return xp.searchsorted(row, values, "right" if right else "left")
        return _bisected(xp, row, values, xp.greater if right else xp.greater_equal)

    if boundaries.ndim == 1:
        return among(boundaries, self)
    if not self.size:
        return xp.zeros(self.shape, xp.int64)
    rows = math.prod(self.shape[:-1])
    pairs = zip(boundaries.reshape(rows, boundaries.shape[-1]), self.reshape(rows, self.shape[-1]), strict=True)
    return xp.stack([among(*each) for each in pairs]).reshape(self.shape)


def _bisected(xp: Any, row: Array, values: Array, is_beyond: Any) -> Array:
    """The insertion points among boundaries with NaN, which no value reaches: NumPy would sort them to the end."""
    start, end = xp.zeros(values.shape, xp.int64), xp.full(values.shape, len(row), xp.int64)
    for _ in range(len(row).bit_length()):
        middle = start + (end - start) // 2
        beyond = is_beyond(row[xp.minimum(middle, len(row) - 1)], values)
        start, end = xp.where(beyond | (start == end), start, middle + 1), xp.where(beyond, middle, end)
    return start


@composite(variants="function out")
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where the values belong in sorted rows: before equal elements, or after them (`right`)."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if is_number(input):
        input = tensor(input, device=sorted_sequence.device)
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if sorted_sequence.dim() > 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and "
            f"input value tensor {list(input.shape)}"
        )
    result = insertion_points(sorted_sequence, input, right or side == "right")
    return result.int() if out_int32 else result.to(int64)


@composite(variants="function out")
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index of the bucket that each value falls in: int64 of the shape of `input`.

    `boundaries` are ascending and 1-D.
    """
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _check_bins(self: Array, bins: Array) -> None:
    if bins.dtype != self.dtype:
        one, other = (c_type_name(each) for each in (self, bins))
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{one} and bins for dimension 0 with dtype {other}"
        )
    if bins.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins "
            "tensor for dimension 0"
        )
    if not bins.size:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            "dimension 0"
        )


@declare(
    keyword_only="range",
    variants="function method out",
    outputs=return_types.histogram,
    node="torch::autograd::NotImplemented",
    derivatives={"self, bins, weight": no_derivative("histogram")},
)
def histogram(
    xp: Any,
    self: Array,
    bins: Array | Number = 100,
    range: Any = None,
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """How many elements, or what weight, fall between neighbouring edges, the last of which is included; and the edges.

    `bins` is a number of equal parts of `range`, by default from the smallest to the largest element, or ascending
    edges (n + 1,). Returns a named tuple (hist, bin_edges) of sizes (n,) and (n + 1,), or with `density` an integral of
    1. Raises RuntimeError for no bins or different dtypes, NotImplementedError for integers.
    """
    kind = FROM_NUMPY[self.dtype]
    if not kind.is_floating_point or kind.is_low_precision:
        raise not_implemented("histogramdd", kind.name)
    if weight is not None and weight.shape != self.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {[self.size, 1]} and weight with shape "
            f"{list(weight.shape)}"
        )
    if isinstance(bins, int):
        _check_count(bins)
        low, high = _ends(xp, self, range)
        edges = xp.linspace(low, high, bins + 1).astype(self.dtype)
    else:
        _check_bins(self, bins)
        edges = bins.copy()
    values = self.reshape(-1)
    inside = (values >= edges[0]) & (values <= edges[-1])
    count = len(edges) - 1
    places = xp.minimum(xp.searchsorted(edges, values[inside], "right") - 1, count - 1)
    weights = None if weight is None else weight.reshape(-1)[inside]
    totals = xp.bincount(places, weights, minlength=count).astype(self.dtype)
    if density:
        totals = totals / (totals.sum() * xp.diff(edges))
    return totals, edges
