"""In which order the elements of an elementwise op's result lie in memory.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/TensorIterator.cpp
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.backend import Array
from minitorch.layout import (
    channels_last,
    contiguous_format,
    is_contiguous,
    is_dense,
    laid_out,
    memory_order,
    ordered_strides,
    restrided,
)
from minitorch.ops.declaration import NUMBER_IS_PARAMETER
from minitorch.tensor import Tensor


def arranged(xp: Any, result: Array, args: Sequence[Any], op: str) -> Array:
    """What an elementwise op computed from `args` (a number is a tensor without dimensions), with PyTorch's
    strides.

    They are those of the arguments where these agree. Otherwise the first argument that has an opinion on the order of
    two dimensions decides. NumPy knows the same rules, but another answer where the arguments disagree.
    """
    shape, sources = result.shape, [each._array for each in args if isinstance(each, Tensor)]
    if op == "pow" and not isinstance(args[0], Tensor):
        return laid_out(xp, result, contiguous_format)
    if 1 not in shape and len(sources) == len(args):
        strides = result.strides
        if all(each.strides == strides and each.itemsize == result.itemsize for each in sources):
            return result
    same = (len(sources) == len(args) or op in NUMBER_IS_PARAMETER) and all(each.shape == shape for each in sources)
    if same and all(each.flags.c_contiguous for each in sources):
        return result
    if same and all(is_contiguous(each, channels_last) for each in sources):
        return laid_out(xp, result, channels_last)
    first = sources[0]
    if same and is_dense(first) and all(_steps(each) == _steps(first) for each in sources):
        return restrided(xp, result, tuple(step * result.itemsize for step in _steps(first)))
    order = memory_order(shape, [_broadcast_strides(each, shape) for each in sources])
    return restrided(xp, result, ordered_strides(shape, order, result.itemsize))


def _steps(array: Array) -> tuple[int, ...]:
    """The strides in elements."""
    return tuple([step // array.itemsize for step in array.strides])


def _broadcast_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of the array expanded to a shape."""
    missing = len(shape) - array.ndim
    kept = zip(array.strides, array.shape, shape[missing:], strict=True)
    return (0,) * missing + tuple([0 if size == 1 != wanted else stride for stride, size, wanted in kept])
