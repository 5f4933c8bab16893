"""Which type the result of an operation on several types has."""

# 02b · Types and dispatch
from __future__ import annotations

from typing import Any

from .settings import FROM_NUMPY, bfloat16, bool_, dtype, float16, float32, int8, int16, int64, settings, uint8
from .tensor import Tensor


def category(d: dtype) -> int:
    """Booleans (0) give way to integers (1), and these to floating-point numbers (2)."""
    return 2 if d.is_floating_point else int(d is not bool_)


def promote_types(one: dtype, other: dtype) -> dtype:
    """The smallest type that holds the values of both, as PyTorch sees it."""
    if one is other:
        return one
    if category(one) != category(other):
        return max(one, other, key=category)
    if {one, other} == {uint8, int8}:
        return int16
    if {one, other} == {float16, bfloat16}:
        return float32
    return max(one, other, key=lambda each: each.itemsize)


def result_type(*operands: Any) -> dtype:
    """The type in which tensors and Python numbers meet."""
    groups: list[dtype | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, Tensor):
            place, type_ = (0 if operand.shape else 1), operand.dtype
        else:
            place, type_ = 2, type_of_number(operand)
        before = groups[place]
        groups[place] = type_ if before is None else promote_types(before, type_)
    decided, *others = filter(None, groups)
    for group in others:
        if category(group) > category(decided):
            decided = group
    return decided


def type_of_number(number: Any) -> dtype:
    """The type that stands for a Python number, or for an array or number of NumPy."""
    if isinstance(number, bool):
        return bool_
    if isinstance(number, int):
        return int64
    if isinstance(number, float):
        return settings.default_dtype
    if hasattr(number, "dtype"):
        return FROM_NUMPY[number.dtype]
    raise TypeError(f"unsupported operand: {type(number).__name__}")
