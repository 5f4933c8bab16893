"""Broadcasting as an op of its own: views that repeat without copying.

Source: https://pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array, Variadic
from minitorch.dispatch import declaration
from minitorch.dispatch.declaration import composite
from minitorch.dispatch.errors import broadcast_clash
from minitorch.dtypes import FROM_NUMPY, bfloat16, bool_, type_name
from minitorch.ops.views.shape import strided
from minitorch.size import Size
from minitorch.tensor import Tensor


@declaration.view(keyword_only="implicit", variants="method", derivatives={"self": lambda grad: grad})
def expand(xp: Any, self: Array, size: Variadic, implicit: bool = False) -> Array:
    """Repeats dimensions of size 1, and adds leading ones, without copying: their stride is 0.

    The engine sums the gradient back to the tensor's shape (`autograd.engine.sum_to_size`). Raises RuntimeError for
    fewer sizes than dimensions, and for another size than that of a dimension that isn't 1; -1 stands for it.
    https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html
    """
    shape, new = self.shape, len(size) - self.ndim
    if new < 0:
        kind = FROM_NUMPY[self.dtype]
        name = type_name(self)
        named = f"CPU{name}Type" if kind in (bool_, bfloat16) or kind.is_complex else f"torch.{name}Tensor"
        raise RuntimeError(
            f"expand({named}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({self.ndim})"
        )
    target, strides = list(size), [0] * len(size)
    for d in range(len(size) - 1, -1, -1):
        have = shape[d - new] if d >= new else 1
        if d >= new and size[d] == -1:
            target[d] = have
        elif size[d] == -1:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {d}"
            )
        if target[d] != have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({target[d]}) must match the existing size ({have}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
        if target[d] < 0:
            raise RuntimeError("numel: integer multiplication overflow")
        if target[d] == have and shape:
            strides[d] = self.strides[d - new] if d >= new else target[d + 1] * strides[d + 1]
    return strided(xp, self, target, strides)


@composite(variants="method")
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """A view expanded to the shape of `other`. Raises RuntimeError for sizes that don't fit."""
    return expand(input, other._array.shape)


@composite()
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """A view of the tensor expanded to `size`, as `expand` makes it. Raises RuntimeError for sizes that don't fit.

    https://pytorch.org/docs/stable/generated/torch.broadcast_to.html
    """
    return expand(input, size)


@composite(variants="function", asks=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """Returns the shape that tensors of these shapes broadcast to.

    Raises RuntimeError when they don't, and for what is no shape; ValueError for negative sizes.
    """
    given = [(each,) if isinstance(each, int) else each for each in shapes if each is not None]
    for shape in given:
        if not isinstance(shape, Sequence):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        if any(size < 0 for size in shape):
            raise ValueError("Attempting to broadcast a dimension with negative length!")
    result = [1] * max(map(len, given), default=0)
    for number, shape in enumerate(given):
        for dim in range(-1, -len(shape) - 1, -1):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! Mismatching argument at "
                    f"index {number} had {shape}; but expected shape should be broadcastable to {result}"
                )
    return Size(result)


@composite(variants="function")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Returns the tensors as views, each expanded to the shape that all broadcast to.

    Raises RuntimeError if there is none.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape: tuple[int, ...] = ()
    for tensor in tensors:
        clash = broadcast_clash(shape, tensor._array.shape)
        if clash is not None:
            raise clash
        shape = broadcast_shapes(shape, tensor._array.shape)
    return tuple(tensor if tensor._array.shape == shape else expand(tensor, shape) for tensor in tensors)
