"""Ops that copy a tensor's elements to other places: repeated, flipped, rolled, masked to triangles, put on diagonals.

Source: https://pytorch.org/docs/stable/torch.html#indexing-slicing-joining-mutating-ops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array, Dims, Variadic
from minitorch.dispatch.declaration import OPS, composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.overlap import ANY_TARGET
from minitorch.dtypes import int32, int64
from minitorch.layout import contiguous_format, empty_as, laid_out, suggested_format
from minitorch.ops.indexing.joining import stack
from minitorch.ops.views.broadcasting import expand
from minitorch.ops.views.shape import checked_dims, flatten, reshape, unsqueeze
from minitorch.ops.views.slicing import diagonal, embed
from minitorch.size import as_int, check_dim, checked_ints, each_dim
from minitorch.tensor import Tensor


def _repeat_backward(grad: Tensor, self_shape: tuple[int, ...], repeats: Sequence[int]) -> Tensor:
    """The sum over the repetitions."""
    shape = (*(1,) * (len(repeats) - len(self_shape)), *self_shape)
    if 0 in repeats:
        return grad.new_zeros(shape)
    pairs = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    return reshape(grad, pairs).sum(tuple(range(0, len(pairs), 2))) if pairs else grad


@declare(variants="method", derivatives={"self": _repeat_backward})
def repeat(xp: Any, self: Array, repeats: Variadic) -> Array:
    """The tensor laid side by side `repeats[d]` times along each dimension d; leading dimensions may be added.

    Raises RuntimeError for fewer numbers than dimensions, and for negative ones.
    """
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (*(1,) * (len(repeats) - self.ndim), *self.shape)
    for size in (sizes := [n * size for n, size in zip(repeats, shape, strict=True)]):
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {sizes}")
    pairs = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    result = xp.empty(pairs, self.dtype)
    result[...] = self.reshape([n for size in shape for n in (1, size)])
    return result.reshape(sizes)


@composite()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor repeated `dims` times along each dimension.

    Sizes are multiplied, and ones put in front of too few `dims`.
    """
    repeats = checked_ints("tile", dims, 1, "dims")
    return repeat(input, (*(1,) * (input._array.ndim - len(repeats)), *repeats))


@composite()
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated before the next comes, along `dim`, or flattened: (n,) → (n · repeats,), or (Σ repeats,).

    Raises RuntimeError for negative repeats and another number of them than elements, NotImplementedError for another
    dtype than int32 and int64.
    """
    if repeats is None:
        return _repeated_indices(input)
    if dim is None:
        input, dim = flatten(input), 0
    dim, is_number = check_dim(dim, input._array.ndim), not input._array.ndim
    if is_number:
        input = reshape(input, 1)
    if isinstance(repeats, Tensor):
        _check_repeats(repeats)
    if isinstance(repeats, Tensor) and repeats.dim() and repeats.numel() != 1:
        if repeats.numel() != input._array.shape[dim]:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats.numel()} and input.size({dim}) = {input._array.shape[dim]}"
            )
        return input.index_select(dim, _repeated_indices(repeats))
    times = int(repeats) if isinstance(repeats, Tensor) else as_int(repeats)
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = input._array.shape
    if is_number:
        check_dim(1, 0)
    wide = expand(unsqueeze(input, dim + 1), (*shape[: dim + 1], times, *shape[dim + 1 :]))
    return flatten(wide.clone(memory_format=contiguous_format), dim, dim + 1)


@declare(variants="")
def repeated_indices(xp: Any, repeats: Array) -> Array:
    return xp.repeat(xp.arange(repeats.size, dtype=repeats.dtype), repeats)


def _check_repeats(repeats: Tensor) -> None:
    if repeats.is_meta:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    if repeats.dtype not in (int32, int64):
        raise not_implemented("repeat_interleave_cpu", repeats.dtype.name)


def _repeated_indices(repeats: Tensor) -> Tensor:
    """0 repeats[0] times, 1 repeats[1] times, …"""
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    _check_repeats(repeats)
    if bool((repeats < 0).any()):
        raise RuntimeError("repeats can not be negative")
    return repeated_indices(repeats)


@declare(derivatives={"self": lambda grad, dims: flip(grad, dims)})
def flip(xp: Any, self: Array, dims: Variadic) -> Array:
    """A copy with the order along `dims` reversed, in the shape of `input`.

    Raises RuntimeError for a dimension that is named twice.
    """
    return _reversed(xp, self, dims)


def _reversed(xp: Any, self: Array, dims: Sequence[int]) -> Array:
    reverse = checked_dims(tuple(dims), self.ndim)
    result = empty_as(xp, self, self.dtype)
    result[...] = self[tuple(slice(None, None, -1 if d in reverse else 1) for d in range(self.ndim))]
    return result


@composite()
def fliplr(input: Tensor) -> Tensor:
    """The order along the second dimension reversed, a copy. Raises RuntimeError for less than two dimensions."""
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@composite()
def flipud(input: Tensor) -> Tensor:
    """The order along the first dimension reversed, a copy. Raises RuntimeError for a 0-d tensor."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def _negated(shifts: Any) -> Any:
    return tuple(-n for n in shifts) if isinstance(shifts, (tuple, list)) else -shifts


@declare(derivatives={"self": lambda grad, shifts, dims: roll(grad, _negated(shifts), dims)})
def roll(xp: Any, self: Array, shifts: int | Sequence[int], dims: Dims | None = ()) -> Array:
    """Every element moved on by `shifts` along `dims`, in the shape of `input`.

    What leaves at the end comes in at the start. Without `dims`, as one flat vector. Raises RuntimeError for another
    number of shifts than of dimensions.
    """
    steps = checked_ints("roll", (shifts,), name="shifts")
    along = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not steps:
        raise RuntimeError("`shifts` required")
    if not along and len(steps) == 1:
        return xp.asarray(xp.roll(self, steps[0]), order="C")
    if len(steps) != len(along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(along)}")
    if not self.ndim:
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    return laid_out(xp, xp.roll(self, steps, checked_dims(along, self.ndim)), suggested_format(self))


@declare(derivatives={"self": lambda grad, k, dims: rot90(grad, -k, dims)})
def rot90(xp: Any, self: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """Turned k times by 90° from the first of `dims` to the second: (n, m) → (m, n) for an odd k.

    Raises RuntimeError for another number of dimensions or two equal ones, IndexError for one out of range.
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.ndim}")
    dim0, dim1 = dims
    dims = each_dim(dims, self.ndim)
    if dims[0] == dims[1]:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dim0} and dim1 = {dim1}")
    turns = as_int(k) % 4
    if turns == 0:
        return self.copy()
    if turns == 2:
        return _reversed(xp, self, dims)
    return _reversed(xp, self, dims[1:] if turns == 1 else dims[:1]).swapaxes(*dims)


def _kept(xp: Any, self: Array, diagonal: int, lower: bool) -> Array:
    """Self where it is in the triangle, else zero."""
    last, columns = xp.arange(self.shape[-2])[:, None] + as_int(diagonal), xp.arange(self.shape[-1])
    inside = columns <= last if lower else columns >= last
    result = xp.zeros(self.shape, self.dtype)
    xp.copyto(result, self, where=inside)
    return result


@declare(
    overlap=(ANY_TARGET,),
    variants="function method inplace out",
    derivatives={"self": lambda grad, diagonal: tril(grad, diagonal)},
)
def tril(xp: Any, self: Array, diagonal: int = 0) -> Array:
    """The elements on and below a diagonal of each matrix; the rest zero."""
    if self.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return _kept(xp, self, diagonal, lower=True)


@declare(
    overlap=(ANY_TARGET,),
    variants="function method inplace out",
    derivatives={"self": lambda grad, diagonal: triu(grad, diagonal)},
)
def triu(xp: Any, self: Array, diagonal: int = 0) -> Array:
    """The elements on and above a diagonal of each matrix; the rest zero."""
    if self.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    return _kept(xp, self, diagonal, lower=False)


@declare(
    variants="function method out",
    derivatives={"self": lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2)},
)
def diag_embed(xp: Any, self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices with the last dimension on a diagonal, zero elsewhere."""
    first, second = (check_dim(d, self.ndim + 1) for d in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    result = xp.zeros([size if d in (first, second) else next(rest) for d in range(self.ndim + 1)], self.dtype)
    OPS["diagonal"].kernel(xp, result, offset, first, second)[...] = self
    return result


@declare(
    variants="out",
    node="DiagonalBackward0_copy",
    derivatives={"self": lambda grad, self_shape, offset: embed(grad, self_shape, diagonal, (offset, 0, 1))},
)
def diagonal_copy(xp: Any, self: Array, offset: int) -> Array:
    return xp.diagonal(self, offset).copy()


@composite()
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix's diagonal, (n, m) → (min(n, m),), a copy; or the matrix with a vector as diagonal, (n,) → (n, n).

    Raises RuntimeError for other numbers of dimensions.
    """
    if input.dim() == 1:
        return diag_embed(input, diagonal, out=out)
    if input.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return diagonal_copy(input, diagonal, out=out)


@composite()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of the tensor as diagonal."""
    return diag_embed(reshape(input, -1), offset)


@declare(variants="")
def combination_indices(xp: Any, self: Array, r: int, with_replacement: bool) -> Array:
    """The indices of all combinations of r elements of a vector, a row each, in lexicographic order."""
    n = self.shape[0]
    grid = xp.stack(xp.meshgrid(*[xp.arange(n)] * r, indexing="ij"), -1).reshape(-1, r)
    steps = grid[:, 1:] - grid[:, :-1]
    return grid[(steps >= (0 if with_replacement else 1)).all(1)]


@composite(variants="function")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a vector, a row each: (n,) → (n over r, r).

    Raises RuntimeError for another number of dimensions or a negative r.
    """
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    return stack([input[indices] for indices in combination_indices(input, r, with_replacement).unbind(1)], 1)
