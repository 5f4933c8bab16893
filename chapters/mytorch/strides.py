"""A tensor as a strided view of its storage: sizes, strides and an offset, all of them counted in elements."""

# 02 · Tensors and storage
from __future__ import annotations

from functools import cache
from typing import Any

from .arrays import library_of

Ints = tuple[int, ...]


class Size(Ints):
    """A shape: a tuple that prints as PyTorch's."""

    def numel(self) -> int:
        """How many elements a tensor of this shape has: the product of its lengths."""
        return count_of(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


def count_of(size: tuple[int, ...]) -> int:
    """The product of the lengths; 1 for the shape ()."""
    count = 1
    for length in size:
        count *= length
    return count


@cache  # most tensors have one of a few shapes
def contiguous_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor of this shape whose elements lie row by row, without gaps."""
    strides = []
    step = 1
    for length in reversed(size):
        strides.append(step)
        step *= length or 1
    return tuple(reversed(strides))


def strided(flat: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    """The strided view of the flat array `flat` with this size, stride and offset: it shares the memory."""
    steps = tuple(step * flat.dtype.itemsize for step in stride)
    return library_of(flat).as_strided(flat[offset:], size, steps)


def normalize_dim(dim: int, ndim: int) -> int:
    """Count a dimension from the front: -1 is the last. A tensor without dimensions takes 0 and -1."""
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


def normalize_dims(dim: int | tuple[int, ...] | list[int] | None, ndim: int) -> tuple[int, ...]:
    """Several dimensions, counted from the front; None and an empty tuple mean all of them."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    found = tuple(normalize_dim(each, ndim) for each in dims)
    if len(set(found)) < len(found):
        twice = next(each for place, each in enumerate(found) if each in found[:place])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return found if ndim else ()


# 03 · Views and layout
from . import words


def infer_size(size: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The shape with its -1 replaced by the length that gives it `count` elements."""
    if size.count(-1) > 1:
        raise words.two_unknown()
    for place, length in enumerate(size):
        if length < -1:
            raise words.below_minus_one(size, place)
    known = count_of(tuple(length for length in size if length != -1))
    if -1 not in size and known == count:
        return size
    if -1 in size and known == count == 0:
        raise words.any_length_fits(size)
    if -1 not in size or known == 0 or count % known:
        raise words.wrong_count(size, count)
    return tuple(count // known if length == -1 else length for length in size)


def view_strides(size: tuple[int, ...], stride: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides with which a view of this size and stride is seen in the shape `wanted`, or None."""
    if not size or 0 in size:
        return stride if size == wanted else contiguous_strides(wanted)
    strides: list[int] = []  # of the result, from the last dimension on
    run = 1  # how many elements the dimensions merged so far have
    inner = stride[-1]  # the stride of the innermost of them
    for dim in reversed(range(len(size))):
        run *= size[dim]
        if dim > 0 and (size[dim - 1] == 1 or stride[dim - 1] == run * inner):
            continue  # the next dimension can be merged, too
        split = 1
        while len(strides) < len(wanted) and (split < run or wanted[-1 - len(strides)] == 1):
            strides.append(split * inner)
            split *= wanted[-len(strides)]
        if split != run:
            return None
        run, inner = 1, stride[dim - 1]
    return tuple(reversed(strides))
