"""Broadcasting: the shape that different shapes broadcast to, and the layer that refuses those that don't fit."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from typing import Any

from . import views, words
from .dispatch import Function, Operation, layer, method, tensors_in
from .pointwise import run_in_common_type
from .strides import Size
from .tensor import Tensor


def broadcast_shapes(*shapes: tuple[int, ...]) -> Size:
    """The shape these shapes broadcast to, as a `Size`; `Size(())` if there are none.

    Shapes are aligned at their right ends; what is missing on the left counts as 1. Along each
    dimension the lengths are equal, or 1; the result has the length that isn't 1.

    Raises:
        RuntimeError: two lengths differ and neither is 1. Take the shapes one by one, and each from its
            last dimension, which is -1, to its first: `words.not_broadcastable(shapes, number, dim, result)`
            words it for the first length that doesn't fit. `result` is the list of lengths so far; it has
            as many dimensions as the longest of all the shapes, and begins as ones.
    """
    result = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -1 - len(shape), -1):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise words.not_broadcastable(shapes, number, dim, result)
    return Size(result)


def meeting_shape(a: tuple[int, ...], b: tuple[int, ...]) -> Size:
    """`broadcast_shapes(a, b)` with the error that an operation on two tensors of these shapes raises.

    Raises:
        RuntimeError: `words.operands_differ(a, b, dim)`, where `dim` is below 0. Of several dimensions that
            don't fit, it names the last.
    """
    for dim in range(-1, -1 - min(len(a), len(b)), -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


def shape_of_all(tensors: list[Tensor]) -> Size:
    """The shape that all these tensors broadcast to, found two at a time."""
    size = Size()
    for each in tensors:
        size = each.shape if size == each.shape else meeting_shape(size, each.shape)
    return size


@layer
def check_shapes(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Refuse operands that can't be broadcast, in PyTorch's words, before NumPy does in its own."""
    on_elements = getattr(op.run, "func", None) is run_in_common_type
    if on_elements or op.name == "copy_":
        size = shape_of_all(tensors_in(args))
        if not on_elements and size != args[0].shape:
            raise RuntimeError(
                f"output with shape {list(args[0].shape)} doesn't match the broadcast shape {list(size)}"
            )
    return below(op, args)


@method
def broadcast_to(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """`expand` by its other name."""
    return views.expand(x, tuple(size))


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to the shape they broadcast to; those that have it already are themselves."""
    size = shape_of_all(list(tensors))
    return tuple(each if each.shape == size else views.expand(each, size) for each in tensors)
