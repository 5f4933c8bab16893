"""Ops that cut a tensor into pieces, all of them views.

Source: https://pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch import declaration, overriding
from minitorch.dispatch.declaration import METHODS, composite
from minitorch.ops.indexing.joining import cat, stack
from minitorch.ops.views.slicing import cut, slice_
from minitorch.size import as_int, check_dim, checked_ints, is_whole
from minitorch.tensor import Tensor


@declaration.view(derivatives={"self": lambda grads, self_shape, dim: _join(grads, self_shape, dim, [1] * len(grads))})
def unbind(xp: Any, self: Array, dim: int = 0) -> Sequence[Array]:
    """All slices along one dimension, as a tuple. https://pytorch.org/docs/stable/generated/torch.unbind.html"""
    front = (slice(None),) * check_dim(dim, self.ndim)
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [self[(*front, index, ...)] for index in range(self.shape[len(front)])]


def _pieces(xp: Any, self: Array, sizes: Sequence[int], dim: int) -> list[Array]:
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    return [cut(xp, self, dim, start, end) for start, end in pairwise(ends)]


def _piece_sizes(size: int, piece: int) -> list[int]:
    """How long the pieces are: all `piece`, but for the last; one empty piece of an empty dimension."""
    if piece == 0:
        return [0]
    return [min(piece, size - start) for start in range(0, max(size, 1), piece)]


@declaration.view(
    variants="",
    node="SplitBackward0",
    derivatives={
        "self": lambda grads, self_shape, split_size, dim: _join(
            grads, self_shape, dim, _piece_sizes(self_shape[dim], split_size)
        )
    },
)
def split_evenly(xp: Any, self: Array, split_size: int, dim: int) -> Sequence[Array]:
    dim = check_dim(dim, self.ndim)
    return _pieces(xp, self, _piece_sizes(self.shape[dim], split_size), dim)


@declaration.view(
    derivatives={"self": lambda grads, self_shape, split_sizes, dim: _join(grads, self_shape, dim, split_sizes)}
)
def split_with_sizes(xp: Any, self: Array, split_sizes: Sequence[int], dim: int = 0) -> Sequence[Array]:
    """Consecutive pieces of the given sizes along `dim`; views, as a tuple.

    Raises RuntimeError for sizes that are negative or don't add up to that of the dimension.
    https://pytorch.org/docs/stable/generated/torch.split.html
    """
    dim = check_dim(dim, self.ndim)
    split_sizes = checked_ints("split_with_sizes", (split_sizes,), 2, "split_sizes")
    return _pieces(xp, self, _checked_sizes(split_sizes, self.shape[dim], dim), dim)


def _join(grads: Sequence[Tensor | None], shape: tuple[int, ...], dim: int, sizes: Sequence[int]) -> Tensor:
    """The gradients of all pieces side by side, zeros where none arrived."""
    dim %= len(shape)
    known = next(grad for grad in grads if grad is not None)
    joined = cat if known.dim() == len(shape) else stack
    rest = shape[dim + 1 :]
    pieces = [
        known.new_zeros((*shape[:dim], size, *rest) if joined is cat else (*shape[:dim], *rest))
        if grad is None
        else grad
        for grad, size in zip(grads, sizes, strict=True)
    ]
    return joined(pieces, dim)


@composite()
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of one size (the last may be shorter), or of the given sizes, along `dim`.

    Returns a tuple. Raises RuntimeError for a 0-d tensor, a negative size, and sizes whose sum isn't that of the
    dimension.
    """
    size: Any = split_size_or_sections
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(size, Tensor) and not size.dim() and is_whole(size):
        size = int(size)
    if not isinstance(size, int):
        return split_with_sizes(tensor, size, dim)
    dim = check_dim(dim, tensor._array.ndim)
    return split_evenly(tensor, _checked_size(size, tensor._array.shape[dim]), dim)


def _split_method(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    return split(self, split_size, dim)


_split_method.__name__, _split_method.__qualname__ = "split", "Tensor.split"
_split_method.__doc__ = split.__doc__
METHODS["split"] = overriding.announced(_split_method)


@composite()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of equal size ⌈n / chunks⌉ along `dim` (the last may be shorter), as a tuple.

    Raises RuntimeError for a 0-d tensor or a number that isn't positive.
    """
    dim, size = _chunked(input, chunks, dim)
    if size == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return split_evenly(input, -(-size // chunks), dim)


@declaration.declare(
    derivatives={
        "self": lambda grads, self_shape, split_size, dim: _join(
            grads, self_shape, dim, _piece_sizes(self_shape[dim], split_size)
        )
    }
)
def unsafe_split(xp: Any, self: Array, split_size: int, dim: int = 0) -> Sequence[Array]:
    """The pieces of `split` in the same memory, but no views to autograd: each may be written to in place.

    Returns a tuple. Gradients are wrong if the input is written to as well. The last piece may have a smaller size.
    Raises RuntimeError for a 0-d tensor or a negative size. https://pytorch.org/docs/stable/generated/torch.unsafe_split.html
    """
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = check_dim(dim, self.ndim)
    return _pieces(xp, self, _piece_sizes(self.shape[dim], _checked_size(split_size, self.shape[dim])), dim)


@declaration.declare(
    derivatives={"self": lambda grads, self_shape, split_sizes, dim: _join(grads, self_shape, dim, split_sizes)}
)
def unsafe_split_with_sizes(xp: Any, self: Array, split_sizes: Sequence[int], dim: int = 0) -> Sequence[Array]:
    """The pieces of the given sizes, as `unsafe_split` has them. Returns a tuple.

    Raises RuntimeError for sizes that are negative or don't add up. Source: https://pytorch.org/docs/stable/torch.html
    """
    dim = check_dim(dim, self.ndim)
    return _pieces(xp, self, _checked_sizes(split_sizes, self.shape[dim], dim), dim)


@composite()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size, as `unsafe_split` has them. Returns a tuple.

    Raises RuntimeError for a 0-d tensor or a number that isn't positive.
    https://pytorch.org/docs/stable/generated/torch.unsafe_chunk.html
    """
    dim, size = _chunked(input, chunks, dim)
    if size == 0:
        return unsafe_split_with_sizes(input, [0] * chunks, dim)
    return unsafe_split(input, -(-size // chunks), dim)


def _chunked(input: Tensor, chunks: int, dim: int) -> tuple[int, int]:
    """The dimension, and its size. Raises RuntimeError for a 0-d tensor or a number of pieces that isn't positive."""
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if as_int(chunks) <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = check_dim(dim, input._array.ndim)
    return dim, input._array.shape[dim]


def _checked_size(split_size: int, length: int) -> int:
    """The size of pieces. Raises RuntimeError if it is negative, or 0 where there is something to split."""
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    return split_size


def _checked_sizes(split_sizes: Sequence[int], length: int, dim: int) -> Sequence[int]:
    """The sizes of pieces. Raises RuntimeError for one that is negative, and for another sum than the length."""
    if min(split_sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={[*split_sizes]}"
        )
    if sum(split_sizes) != length:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    return split_sizes


@composite()
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    sections: int | None = None,
    indices: Sequence[int] | None = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Pieces cut before the given indices, or a number of pieces whose sizes differ by at most one; views, as a tuple.

    Raises RuntimeError for a 0-d tensor or a number that isn't positive.
    """
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = check_dim(dim, input._array.ndim)
    size = input._array.shape[dim]
    given = (indices_or_sections, sections, indices, tensor_indices_or_sections)
    cuts: Any = next((each for each in given if each is not None), None)
    cuts = cuts.tolist() if isinstance(cuts, Tensor) else cuts
    if isinstance(cuts, (tuple, list)):
        cuts = checked_ints("tensor_split", (cuts,), 2, "indices")
    else:
        if as_int(cuts) <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {cuts}")
        each, longer = divmod(size, cuts)
        cuts = [each * section + min(section, longer) for section in range(1, cuts)]
    return tuple(slice_(input, dim, start, end) for start, end in pairwise([0, *cuts, size]))


def _split_along(input: Tensor, sections: Any, dim: int, name: str, least: int) -> tuple[Tensor, ...]:
    ndim = input._array.ndim
    if ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} dimensions!"
        )
    if isinstance(sections, int) and (sections == 0 or input._array.shape[dim] % sections):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input._array.shape[dim]} is not divisible by the split_size {sections}!"
        )
    return tensor_split(input, sections, dim)


def _sections(args: tuple[Any, ...], sections: int | None, indices: Sequence[int] | None) -> Any:
    if sections is not None or indices is not None:
        return indices if sections is None else sections
    return args[0] if len(args) == 1 and not isinstance(args[0], Tensor) else args


@composite()
def hsplit(
    input: Tensor, *indices_or_sections: Any, sections: int | None = None, indices: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    """`tensor_split` along the second dimension, or the only one, into equal parts, or before indices.

    Returns a tuple of views. Raises RuntimeError for a 0-d tensor, and for parts that don't divide the size.
    https://pytorch.org/docs/stable/generated/torch.hsplit.html
    """
    return _split_along(
        input, _sections(indices_or_sections, sections, indices), 1 if input._array.ndim > 1 else 0, "hsplit", 1
    )


@composite()
def vsplit(
    input: Tensor, *indices_or_sections: Any, sections: int | None = None, indices: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    """`tensor_split` along the first dimension into equal parts, or before indices; views, as a tuple.

    Raises RuntimeError for less than two dimensions, and for parts that don't divide the size.
    https://pytorch.org/docs/stable/generated/torch.vsplit.html
    """
    return _split_along(input, _sections(indices_or_sections, sections, indices), 0, "vsplit", 2)


@composite()
def dsplit(
    input: Tensor, *indices_or_sections: Any, sections: int | None = None, indices: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    """`tensor_split` along the third dimension into equal parts, or before indices; views, as a tuple.

    Raises RuntimeError for less than three dimensions, and for parts that don't divide the size.
    https://pytorch.org/docs/stable/generated/torch.dsplit.html
    """
    return _split_along(input, _sections(indices_or_sections, sections, indices), 2, "dsplit", 3)
