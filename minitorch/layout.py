"""How the elements of a tensor lie in memory: layouts and memory formats.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#torch-layout
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from minitorch.arrays import Array


class layout:
    """What kind of storage a tensor has: by strides, or as `minitorch.sparse` has it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format:
    """The order of dimensions in memory. `order` names them from the outermost to the innermost."""

    __slots__ = ("name", "order")

    def __init__(self, name: str, order: tuple[int, ...] | None = None) -> None:
        self.name: Final = name
        self.order: Final = order

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))


def check_layout(function: str, requested: Any) -> None:
    """Raises NotImplementedError for a layout other than strided."""
    if requested is not None and requested is not strided:
        raise NotImplementedError(f"{function}: layout={requested}")


def _rank_checked(order: tuple[int, ...], ndim: int, format: memory_format) -> tuple[int, ...]:
    """The order of a format. Raises RuntimeError when it is for tensors of another number of dimensions."""
    if ndim != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {format.name} format")
    return order


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a tensor that lies row by row; as PyTorch's, never zero."""
    return tuple([math.prod([max(size, 1) for size in shape[dim + 1 :]]) for dim in range(len(shape))])


def strides_of(array: Array) -> tuple[int, ...]:
    """The strides in bytes. An array without elements has the ones it was given; NumPy gives it none, only zeros."""
    if array.size or any(array.strides):
        return array.strides
    return tuple([step * array.itemsize for step in contiguous_stride(array.shape)])


def is_contiguous(array: Array, format: memory_format) -> bool:
    """Whether the elements lie in memory in the order of the format, without gaps."""
    if format.order is None:
        return bool(array.flags.c_contiguous)
    if array.ndim != len(format.order):
        return False
    if array.size:
        return bool(array.transpose(format.order).flags.c_contiguous)
    found, wanted = strides_of(array), ordered_strides(array.shape, reversed(format.order), array.itemsize)
    return all(size == 1 or a == b for size, a, b in zip(array.shape, found, wanted, strict=True))


def suggested_format(array: Array) -> memory_format:
    """The memory format that the strides speak for: channels last only where there is no doubt.

    Source: `is_channels_last_strides_2d`, https://github.com/pytorch/pytorch/blob/main/c10/core/MemoryFormat.h
    """
    shape, strides = array.shape, array.strides
    format = {4: channels_last, 5: channels_last_3d}.get(array.ndim)
    if format is None or format.order is None or not array.size or strides[1] == 0:
        return contiguous_format
    least = 0
    for dim in reversed(format.order):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return contiguous_format
        least = strides[dim] * shape[dim]
    return format


def kept_order(array: Array) -> str:
    """The `order` that makes NumPy keep the order of strides when it copies; expanded arrays go row by row."""
    return "C" if 0 in array.strides else "K"


def is_dense(array: Array) -> bool:
    """Whether the elements fill a part of the memory without gaps and without sharing a place, in any order."""
    if array.flags.c_contiguous:
        return True
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def may_overlap(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether two elements may share a place: sorted by stride, a dimension doesn't step over all smaller ones."""
    reach = 0
    for step, size in sorted(zip(stride, shape, strict=True)):
        if size > 1 and step <= reach:
            return True
        reach += (size - 1) * step
    return False


def memory_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions in the order in which a new array has them in memory, the innermost first.

    `strides` are those of the arrays that it is computed from: the order is theirs, the first one's in case of doubt.
    Source: `TensorIteratorBase::reorder_dimensions`, https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/TensorIterator.cpp
    """
    order = list(range(len(shape) - 1, -1, -1))
    for end in range(1, len(order)):
        here = end
        for before in range(end - 1, -1, -1):
            comparison = _compare(shape, strides, order[before], order[here])
            if comparison > 0:
                order[before], order[here] = order[here], order[before]
                here = before
            elif comparison < 0:
                break
    return order


def _compare(shape: Sequence[int], strides: Sequence[Sequence[int]], inner: int, outer: int) -> int:
    """1 where the two dimensions have to change places, -1 where they must not, 0 where no array tells."""
    for each in strides:
        if each[inner] == 0 or each[outer] == 0:
            continue
        if each[inner] != each[outer]:
            return 1 if each[inner] > each[outer] else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def ordered_strides(shape: Sequence[int], order: Iterable[int], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of an array without gaps whose dimensions lie in memory in this order."""
    dims = list(order)
    if dims == list(range(len(shape) - 1, -1, -1)):
        return tuple([step * itemsize for step in contiguous_stride(shape)])
    strides = [0] * len(shape)
    for dim in dims:
        strides[dim] = itemsize
        itemsize *= shape[dim]
    return tuple(strides)


def restrided(xp: Any, array: Array, strides: tuple[int, ...]) -> Array:
    """The elements of a new array under other strides without gaps: moved in memory only where they have to be."""
    if array.strides == strides:
        return array
    if array.size and any(size > 1 and a != b for size, a, b in zip(array.shape, array.strides, strides, strict=True)):
        moved = xp.lib.stride_tricks.as_strided(xp.empty(array.size, array.dtype), array.shape, strides)
        moved[...] = array
        return moved
    return xp.lib.stride_tricks.as_strided(array, array.shape, strides)


def kept_strides(array: Array, itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of a copy in `preserve_format`: the array's own if it is dense, otherwise its order."""
    if is_dense(array):
        return tuple(step // array.itemsize * itemsize for step in strides_of(array))
    return ordered_strides(array.shape, memory_order(array.shape, (array.strides,)), itemsize)


def empty_as(xp: Any, array: Array, dtype: Any) -> Array:
    """Memory for a copy of the array in `preserve_format`."""
    empty = xp.empty_like(array, dtype, kept_order(array), False)
    canonical = array.flags.c_contiguous and 1 not in array.shape
    return empty if canonical and array.size else restrided(xp, empty, kept_strides(array, empty.itemsize))


def laid_out(xp: Any, array: Array, format: memory_format) -> Array:
    """The elements of a new array with the strides of the format; moved in memory only where they have to be."""
    order = range(array.ndim) if format.order is None else format.order
    return restrided(xp, array, ordered_strides(array.shape, reversed(order), array.itemsize))


def copy_in(xp: Any, array: Array, dtype: Any, format: memory_format) -> Array:
    """A copy of the array, in another dtype, whose memory is in the order of the format."""
    if format is preserve_format and array.flags.c_contiguous and 1 not in array.shape and array.size:
        return array.astype(dtype, order="C")
    if format is preserve_format:
        copy = empty_as(xp, array, dtype)
        copy[...] = array
        return copy
    if format.order is None:
        return array.astype(dtype, order="C")
    order = _rank_checked(format.order, array.ndim, format)
    ordered = array.transpose(order).astype(dtype, order="C").transpose(inverse(order))
    return ordered if array.size else laid_out(xp, ordered, format)


def empty_in(xp: Any, shape: tuple[int, ...], dtype: Any, format: memory_format) -> Array:
    """Memory for an array of this shape in the order of the format."""
    if format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    if format.order is None:
        return xp.empty(shape, dtype)
    order = _rank_checked(format.order, len(shape), format)
    return laid_out(xp, xp.empty([shape[d] for d in order], dtype).transpose(inverse(order)), format)


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `order`."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
