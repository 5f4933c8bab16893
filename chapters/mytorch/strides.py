"""How a tensor walks over its storage: sizes, strides and an offset, all of them counted in elements."""

# 02 · Tensors and storage
from __future__ import annotations

from typing import Any

from .arrays import library_of


class Size(tuple[int, ...]):
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


def contiguous_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor of this shape whose elements lie row by row, without gaps.

    The last dimension moves by 1. Each other one moves by the number of elements in a whole step of
    it: the product of the lengths to its right. A length of 0 counts as 1:
    `contiguous_strides((2, 0, 3))` is `(3, 3, 1)`.
    """
    strides = []
    step = 1
    for length in reversed(size):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def walk(flat: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    """The array of shape `size` that a walk over the flat array `flat` visits, sharing its memory.

    Element (i, j, …) is `flat[offset + i * stride[0] + j * stride[1] + …]`. The array's library makes
    it: `library_of(flat).as_strided(array, size, steps)` walks from the first element of `array` on,
    with steps in bytes.
    """
    steps = tuple(step * flat.dtype.itemsize for step in stride)
    return library_of(flat).as_strided(flat[offset:], size, steps)


def normalize_dim(dim: int, ndim: int) -> int:
    """Count a dimension from the front: -1 is the last. A tensor without dimensions takes 0 and -1.

    Raises:
        IndexError: there is no such dimension.
    """
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
    """The shape with its -1 replaced by the length that gives it `count` elements.

    Without a -1 it is the shape itself.

    Raises:
        RuntimeError: two lengths are -1 (`words.two_unknown()`); a length is below -1
            (`words.below_minus_one(size, place)`); no length gives `count` elements
            (`words.wrong_count(size, count)`); or any length would, because `count` is 0 and another
            length is 0, too (`words.any_length_fits(size)`).
    """
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
    """The strides with which a walk of this size and stride is seen in the shape `wanted`, or None.

    Both shapes have the same number of elements. From the last dimension on, a dimension joins the run
    to its right if its stride equals the run's number of elements times the run's innermost stride, or
    if its length is 1. A run can be split in any way: inside it, each stride is the one to its right
    times the length there. Two runs stay apart, so each has to be the product of some lengths of
    `wanted`, in order; if one isn't, there are no strides. A length of 1 in `wanted` belongs to the run
    to its right, and at the end to the last run.

    A walk without dimensions or without elements is seen with contiguous strides; only a walk without
    elements that is seen in its own shape keeps its strides.
    """
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
