"""How the elements of a tensor lie in memory: layouts and memory formats.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#torch-layout
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from minitorch.backend import Array


class layout:
    """What kind of storage a tensor has. Only `strided` is supported."""

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
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))


def check_layout(function: str, requested: Any) -> None:
    """Raises NotImplementedError for a layout other than strided."""
    if requested is not None and requested is not strided:
        raise NotImplementedError(f"{function}: layout={requested}")


def in_format(xp: Any, array: Array, format: memory_format) -> Array:
    """A view of the array with its dimensions in the order in which `format` has them in memory.

    Raises RuntimeError when the format is for tensors of another number of dimensions.
    """
    order = format.order
    if order is None:
        return array
    if array.ndim != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {format.name} format")
    return array.transpose(order)


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a tensor that lies row by row; as PyTorch's, never zero."""
    return tuple([math.prod([max(size, 1) for size in shape[dim + 1 :]]) for dim in range(len(shape))])


def is_contiguous(array: Array, format: memory_format) -> bool:
    """Whether the elements lie in memory in the order of the format, without gaps."""
    if format.order is None:
        return bool(array.flags.c_contiguous)
    return array.ndim == len(format.order) and bool(array.transpose(format.order).flags.c_contiguous)


def kept_order(array: Array) -> str:
    """The `order` that makes NumPy keep the order of strides when it copies; expanded arrays go row by row."""
    return "C" if 0 in array.strides else "K"


def copy_in(xp: Any, array: Array, dtype: Any, format: memory_format) -> Array:
    """A copy of the array, in another dtype, whose memory is in the order of the format."""
    if format is preserve_format:
        return array.astype(dtype, order=kept_order(array))
    if format.order is None:
        return array.astype(dtype, order="C")
    ordered = in_format(xp, array, format).astype(dtype, order="C")
    return ordered.transpose(inverse(format.order))


def empty_in(xp: Any, shape: tuple[int, ...], dtype: Any, format: memory_format) -> Array:
    """Memory for an array of this shape in the order of the format."""
    if format.order is None:
        return xp.empty(shape, dtype)
    if len(shape) != len(format.order):
        raise RuntimeError(f"required rank {len(format.order)} tensor to use {format.name} format")
    return xp.empty([shape[d] for d in format.order], dtype).transpose(inverse(format.order))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `order`."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
