"""In which order the elements of an elementwise op's result lie in memory.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/TensorIterator.cpp
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.op import TO_FLOAT, Op
from minitorch.dispatch.promotion import common_type
from minitorch.dtypes import FLOATING, get_default_dtype
from minitorch.layout import channels_last as channels_last_format
from minitorch.layout import (
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
    suggested_format,
)
from minitorch.tensor import Tensor


def arranged(op: Op, xp: Any, args: Sequence[Any], result: Array) -> Array:
    """The result of an elementwise op on `args`, where a number counts as a 0-d tensor, with PyTorch's strides.

    They are those of the arguments where these agree. Otherwise the first argument that has an opinion on the order of
    two dimensions decides. NumPy knows the same rules, but another answer where the arguments disagree.
    """
    if result.flags.c_contiguous and 1 not in result.shape and result.size:
        for each in args:
            if isinstance(each, Tensor) and not each._array.flags.c_contiguous:
                steps = each._array.strides
                if any(steps) and not _fall(steps):
                    break
        else:
            return result  # no argument wants it otherwise
    return _by_opinions(op, xp, args, result)


def _fall(steps: Sequence[int]) -> bool:
    """Whether each dimension takes smaller steps in memory than those before it, but for steps of 0, which repeat."""
    last = None
    for step in steps:
        if step and last is not None and step >= last:
            return False
        last = step or last
    return True


def _by_opinions(op: Op, xp: Any, args: Sequence[Any], result: Array) -> Array:
    operands = [args[position] for position in op.schema.tensors if position < len(args)]
    shape, sources = result.shape, [each._array for each in operands if isinstance(each, Tensor)]
    if 1 not in shape and len(sources) == len(operands):
        strides = result.strides
        if all(each.strides == strides and each.itemsize == result.itemsize for each in sources):
            return result
    if op.promoted and (op.types.promotion == TO_FLOAT or len({each.dtype for each in sources}) > 1):
        sources = _converted(xp, op, operands)
    return combined(xp, result, sources, numbers=len(sources) < len(operands) and not op.types.number_is_parameter)


def combined(xp: Any, result: Array, sources: Sequence[Array], numbers: bool = False) -> Array:
    """What was computed element by element from arrays, and perhaps numbers, with PyTorch's strides."""
    shape = result.shape
    same = not numbers and all(each.shape == shape for each in sources)
    if same and all(each.flags.c_contiguous for each in sources):
        return result
    if same and all(is_contiguous(each, channels_last_format) for each in sources):
        return laid_out(xp, result, channels_last_format)
    first = sources[0]
    if same and is_dense(first) and all(_steps(each) == _steps(first) for each in sources):
        return restrided(xp, result, tuple(step * result.itemsize for step in _steps(first)))
    order = memory_order(shape, [broadcast_strides(each, shape) for each in sources])
    return restrided(xp, result, ordered_strides(shape, order, result.itemsize))


def _converted(xp: Any, op: Op, args: Sequence[Any]) -> list[Array]:
    """The arrays, but memory for a copy in place of those that PyTorch casts first: a copy has no gaps."""
    promoted = [each for position, each in zip(op.schema.tensors, args, strict=False) if position in op.promoted]
    common = common_type(each for each in promoted if each is not None)
    if op.types.promotion == TO_FLOAT and common.category < FLOATING:
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


def like_first(op: Op, xp: Any, args: Sequence[Any], result: Array) -> Array:
    """A result that PyTorch makes beforehand, like the first argument."""
    return restrided(xp, result, kept_strides(args[0]._array, result.itemsize))


def row_major(op: Op, xp: Any, args: Sequence[Any], result: Array) -> Array:
    """A result whose elements lie row by row, however the arguments lie in memory."""
    if result.flags.c_contiguous and 1 not in result.shape:
        return result
    return laid_out(xp, result, contiguous_format)


def channels_last(op: Op, xp: Any, args: Sequence[Any], result: Array) -> Array:
    """A result with the channels last, where an argument whose format counts has them there; else by rows."""
    for name in op.memory.format_from:
        format = suggested_format(args[op.schema.positions[name]]._array)
        if format.order is not None:
            return laid_out(xp, result, format) if result.ndim == len(format.order) else result
    return row_major(op, xp, args, result)
