"""Ops that look at a part of a tensor's elements: views again. And their reverse, which put a part into a whole.

Source: https://pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch import declaration
from minitorch.dispatch.apply import write_out
from minitorch.dispatch.declaration import OPS, composite, declare
from minitorch.dispatch.overlap import NO_SOURCE
from minitorch.dtypes import INTEGER
from minitorch.layout import contiguous_format, copy_in, preserve_format
from minitorch.ops.views.shape import strided
from minitorch.size import as_int, check_dim
from minitorch.tensor import Tensor

View = Callable[..., Tensor]


@declare(
    variants="",
    node=lambda self, shape, look, args: f"{_camel(look)}BackwardBackward0",
    derivatives={"self": lambda grad, look, args: look(grad, *args)},
)
def embed(xp: Any, self: Array, shape: tuple[int, ...], look: View, args: Sequence[Any]) -> Array:
    """Zeros of `shape`, with self where the view op `look(…, *args)` looks: the gradient of that op."""
    whole = xp.zeros(shape, self.dtype)
    OPS[look.__name__].kernel(xp, whole, *args)[...] = self
    return whole


def _scattered(xp: Any, whole: Array, part: Array, look: View, args: Sequence[Any]) -> Array:
    """A copy of `whole`, in its strides, with `part` where `look` looks."""
    copy = copy_in(xp, whole, whole.dtype, preserve_format)
    if 0 not in whole.strides and whole.size:
        extent = 1 + sum(
            (size - 1) * step // whole.itemsize for size, step in zip(whole.shape, whole.strides, strict=True)
        )
        copy = strided(xp, xp.empty(extent, whole.dtype), whole.shape, whole.strides)
        copy[...] = whole
    place = OPS[look.__name__].kernel(xp, copy, *args)
    if place.shape != part.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(part.shape)}, slice size = "
            f"{list(place.shape)}"
        )
    place[...] = part
    return copy


def _camel(function: View) -> str:
    return "".join(map(str.capitalize, function.__name__.split("_")))


@declaration.view(
    derivatives={"self": lambda grad, self_shape, dim, index: embed(grad, self_shape, select, (dim, index))}
)
def select(xp: Any, self: Array, dim: int, index: int) -> Array:
    """The elements at one index of one dimension, without it. https://pytorch.org/docs/stable/generated/torch.select.html"""
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = check_dim(dim, self.ndim)
    index = operator.index(index)
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    return self[(*(slice(None),) * dim, index, ...)]


@declaration.view(
    variants="",
    node="SliceBackward0",
    derivatives={
        "self": lambda grad, self_shape, dim, start, end, step: embed(grad, self_shape, slice_, (dim, start, end, step))
    },
)
def slice_(
    xp: Any, self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """Every `step`th element from `start` to before `end` along `dim`."""
    if self.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim = check_dim(dim, self.ndim)
    start, end, _ = slice(start, end).indices(self.shape[dim])
    return cut(xp, self, dim, start, end, step)


def cut(xp: Any, self: Array, dim: int, start: int, end: int, step: int = 1) -> Array:
    """A slice; of an empty one, too, it is known where it begins, which NumPy doesn't keep."""
    if start < end:
        return self[(*(slice(None),) * dim, slice(start, end, step))]
    shape, stride = (*self.shape[:dim], 0, *self.shape[dim + 1 :]), self.strides[dim]
    strides = (*self.strides[:dim], stride * step, *self.strides[dim + 1 :])
    return strided(xp, self, shape, strides, start * stride)


@composite()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """`length` elements from `start` on along `dim`, a view.

    Raises RuntimeError for a range outside of the dimension.
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if as_int(length) < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    return _part(input, dim, start, length)


def _part(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    size = input._array.shape[check_dim(dim, input._array.ndim)]
    if isinstance(start, Tensor) and (start.dim() or start.dtype.category != INTEGER):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = int(start) if isinstance(start, Tensor) else as_int(start)
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if as_int(length) < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_(input, dim, start, start + length)


@composite()
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """`length` elements from `start` on along `dim`, a copy.

    Raises RuntimeError for a range outside of the dimension.
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= input._array.ndim:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    part = _part(input, dim, start, length)
    return part.clone(memory_format=contiguous_format) if out is None else write_out("narrow_copy", out, part)


@declaration.view(
    derivatives={
        "self": lambda grad, self_shape, offset, dim1, dim2: embed(grad, self_shape, diagonal, (offset, dim1, dim2))
    }
)
def diagonal(xp: Any, self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The elements where index dim2 − index dim1 = offset, as last dimension, a view: (n, m, k) → (k, min(n, m)).

    Raises RuntimeError for dim1 = dim2.
    """
    first, second = check_dim(dim1, self.ndim), check_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = self.shape[first], self.shape[second]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start: list[Any] = [slice(None)] * self.ndim
    start[first], start[second] = slice(max(-offset, 0), None), slice(max(offset, 0), None)
    corner = self[tuple(start)] if length else self
    kept = [d for d in range(self.ndim) if d not in (first, second)]
    return strided(
        xp,
        corner,
        (*(self.shape[d] for d in kept), length),
        (*(self.strides[d] for d in kept), self.strides[first] + self.strides[second]),
    )


@declaration.view(
    variants="method",
    derivatives={
        "self": lambda grad, self_shape, dimension, size, step: unfold_backward(grad, self_shape, dimension, size, step)
    },
)
def unfold(xp: Any, self: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of `size` along `dimension`, one every `step` elements; the last dimension runs inside a window.

    Raises RuntimeError for windows longer than the dimension, and for a step that isn't positive.
    https://pytorch.org/docs/stable/generated/torch.Tensor.unfold.html
    """
    dim = check_dim(dimension, self.ndim)
    length, stride = (self.shape[dim], self.strides[dim]) if self.ndim else (1, self.itemsize)
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return strided(xp, self, (size,), (stride,))
    count = (length - size) // step + 1
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size)
    return strided(xp, self, shape, (*self.strides[:dim], stride * step, *self.strides[dim + 1 :], stride))


@declare(variants="", derivatives={"self": lambda grad, dimension, size, step: unfold(grad, dimension, size, step)})
def unfold_backward(xp: Any, self: Array, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Array:
    """The windows added up where they came from: one position inside the windows after the other never overlaps."""
    whole = xp.zeros(shape, self.dtype)
    if not shape:
        return self.reshape(shape).copy() if size else whole
    dim = check_dim(dimension, len(shape))
    count = self.shape[dim]
    for position in range(size):
        places = slice(position, position + (count - 1) * step + 1, step)
        whole[(*(slice(None),) * dim, places)] += self[..., position]
    return whole


@declare(
    overlap=(NO_SOURCE,),
    variants="function method out",
    derivatives={
        "self": lambda grad, src_shape, dim, index: select_scatter(grad, grad.new_zeros(src_shape), dim, index),
        "src": lambda grad, dim, index: select(grad, dim, index),
    },
)
def select_scatter(xp: Any, self: Array, src: Array, dim: int, index: int) -> Array:
    """A copy of self with `src` at one index of one dimension."""
    return _scattered(xp, self, src, select, (dim, index))


@declare(
    variants="function method out",
    derivatives={
        "self": lambda grad, src_shape, dim, start, end, step: slice_scatter(
            grad, grad.new_zeros(src_shape), dim, start, end, step
        ),
        "src": lambda grad, dim, start, end, step: slice_(grad, dim, start, end, step),
    },
)
def slice_scatter(
    xp: Any, self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """A copy of self with `src` in the slice start:end:step of one dimension."""
    return _scattered(xp, self, src, slice_, (dim, start, end, step))


@declare(
    derivatives={
        "self": lambda grad, src_shape, offset, dim1, dim2: diagonal_scatter(
            grad, grad.new_zeros(src_shape), offset, dim1, dim2
        ),
        "src": lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2),
    }
)
def diagonal_scatter(xp: Any, self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A copy of self, of its shape and dtype, with `src` on a diagonal, whose shape is that of `diagonal`."""
    return _scattered(xp, self, src, diagonal, (offset, dim1, dim2))
