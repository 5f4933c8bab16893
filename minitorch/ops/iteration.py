"""In which order the elements of an elementwise op's result lie in memory.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/TensorIterator.cpp
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import FLOATING, get_default_dtype
from minitorch.layout import (
    channels_last,
    contiguous_format,
    empty_as,
    is_contiguous,
    is_dense,
    kept_strides,
    laid_out,
    memory_order,
    ordered_strides,
    restrided,
    strides_of,
)
from minitorch.ops.declaration import Op
from minitorch.ops.plan import NUMBER_IS_PARAMETER
from minitorch.ops.promotion import common_type
from minitorch.tensor import Tensor


def arranged(xp: Any, result: Array, args: Sequence[Any], op: Op) -> Array:
    """What an elementwise op computed from `args` (a number is a tensor without dimensions), with PyTorch's
    strides.

    They are those of the arguments where these agree. Otherwise the first argument that has an opinion on the order of
    two dimensions decides. NumPy knows the same rules, but another answer where the arguments disagree.
    """
    shape, sources = result.shape, [each._array for each in args if isinstance(each, Tensor)]
    if op.name in _LIKE_FIRST:
        return restrided(xp, result, kept_strides(sources[0], result.itemsize))
    if op.name == "pow" and not isinstance(args[0], Tensor):
        return laid_out(xp, result, contiguous_format)
    if 1 not in shape and len(sources) == len(args):
        strides = result.strides
        if all(each.strides == strides and each.itemsize == result.itemsize for each in sources):
            return result
    if op.promoted and (op.to_float or len({each.dtype for each in sources}) > 1):
        sources = _converted(xp, op, args)
    if op.name == "rsub":  # which PyTorch computes as other − self
        sources = sources[::-1]
    return combined(xp, result, sources, numbers=len(sources) < len(args) and op.name not in NUMBER_IS_PARAMETER)


_LIKE_FIRST = frozenset({"hardtanh", "_prelu", "deg2rad", "rad2deg"})
"""Ops whose result PyTorch makes beforehand, like the first argument."""


def combined(xp: Any, result: Array, sources: Sequence[Array], numbers: bool = False) -> Array:
    """What was computed element by element from arrays, and perhaps numbers, with PyTorch's strides."""
    shape = result.shape
    same = not numbers and all(each.shape == shape for each in sources)
    if same and all(each.flags.c_contiguous for each in sources):
        return result
    if same and all(is_contiguous(each, channels_last) for each in sources):
        return laid_out(xp, result, channels_last)
    first = sources[0]
    if same and is_dense(first) and all(_steps(each) == _steps(first) for each in sources):
        return restrided(xp, result, tuple(step * result.itemsize for step in _steps(first)))
    order = memory_order(shape, [broadcast_strides(each, shape) for each in sources])
    return restrided(xp, result, ordered_strides(shape, order, result.itemsize))


def _converted(xp: Any, op: Op, args: Sequence[Any]) -> list[Array]:
    """The arrays, but memory for a copy in place of those that PyTorch casts first: a copy has no gaps."""
    promoted = [each for position, each in zip(op.tensors, args, strict=True) if position in op.promoted]
    common = common_type(each for each in promoted if each is not None)
    if op.to_float and common.category < FLOATING:
        common = get_default_dtype()
    return [
        empty_as(xp, each._array, common.numpy)
        if each._dtype is not common and any(each is one for one in promoted)
        else each._array
        for each in args
        if isinstance(each, Tensor)
    ]


def _steps(array: Array) -> tuple[int, ...]:
    """The strides in elements."""
    return tuple([step // array.itemsize for step in array.strides])


def broadcast_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of the array expanded to a shape."""
    missing = len(shape) - array.ndim
    kept = zip(strides_of(array), array.shape, shape[missing:], strict=True)
    return (0,) * missing + tuple([0 if size == 1 != wanted else stride for stride, size, wanted in kept])
