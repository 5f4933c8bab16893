"""Broadcasting: the shape that different shapes broadcast to, and the checks that refuse those that don't fit."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from typing import Any

from . import Size, pointwise, views, words
from .dispatch import method
from .tensor import Tensor, extend


def broadcast_shapes(*shapes: tuple[int, ...]) -> Size:
    """The shape these shapes broadcast to, as a `Size`; `Size(())` if there are none."""
    result = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -1 - len(shape), -1):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise words.not_broadcastable(shapes, number, dim, result)
    return Size(result)


def meeting_shape(a: tuple[int, ...], b: tuple[int, ...]) -> Size:
    """`broadcast_shapes(a, b)` with the error that an operation on two tensors of these shapes raises."""
    for dim in range(-1, -1 - min(len(a), len(b)), -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


def shape_of_all(*operands: Any) -> Size:
    """The shape that all the tensors among the operands broadcast to, found two at a time."""
    size: Size | None = None
    for each in operands:
        if isinstance(each, Tensor) and each.shape != size:
            size = each.shape if size is None else meeting_shape(size, each.shape)
    return Size() if size is None else size


def check_target(x: Tensor, source: Tensor) -> None:
    """Refuse to write what isn't broadcast to the shape of `x`."""
    size = shape_of_all(x, source)
    if size != x.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(size)}")


@method
def broadcast_to(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """`expand` by its other name."""
    return views.expand(x, tuple(size))


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to the shape they broadcast to; those that have it already are themselves."""
    size = shape_of_all(*tensors)
    return tuple(each if each.shape == size else views.expand(each, size) for each in tensors)


extend(pointwise.Pointwise, check=staticmethod(shape_of_all))  # raises PyTorch's error before NumPy raises its own
extend(views.copy_, check=check_target)
