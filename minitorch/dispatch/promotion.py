"""Type promotion: the common dtype of an op's arguments.

Tensors with dimensions decide; a 0-dim tensor, and after it a Python number, counts only when it is of a higher
category (bool < integer < floating < complex). Which type two types meet in is `dtypes.promote_types`.
Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from minitorch.dispatch import errors
from minitorch.dispatch.op import TO_FLOAT, Op
from minitorch.dtypes import FLOATING, dtype, float32, get_default_dtype, promote_types, scalar_type
from minitorch.layout import is_dense, kept_order, kept_strides, restrided
from minitorch.scalars import check_int, to_scalar
from minitorch.tensor import Tensor


def is_number(value: Any) -> bool:
    """Whether an argument is a Python or NumPy number (or bool), which ops take in place of a 0-dim tensor."""
    kind = value.__class__
    return kind is float or kind is int or isinstance(value, numbers.Number) or kind.__name__ == "bool"


def common_type(values: Iterable[Any]) -> dtype:
    """The dtype that arithmetic on these tensors and numbers happens in and results in."""
    by_rank: list[dtype | None] = [None, None, None]  # of tensors with dimensions, 0-dim tensors, numbers
    for value in values:
        if isinstance(value, Tensor):
            rank, its = (0 if value._array.ndim else 1), value._dtype
        else:
            rank, its = 2, scalar_type(value)
        known = by_rank[rank]
        by_rank[rank] = its if known is None else promote_types(known, its)
    result: dtype | None = None
    for candidate in by_rank:
        if candidate is None:
            continue
        if result is None:
            result = candidate
        elif candidate.category > result.category:
            floating = result.category == FLOATING  # and the candidate complex, whose precision doesn't count
            result = result.to_complex() if floating else promote_types(result, candidate)
    assert result is not None
    return result


def result_type(tensor: Any, other: Any) -> dtype:
    """Returns the dtype of arithmetic on the two. https://pytorch.org/docs/stable/generated/torch.result_type.html"""
    return common_type((tensor, other))


_LARGE = 2.0**127
"""Smaller numbers are in the range of all floats of four bytes or more."""


def fits(value: Any, common: dtype) -> bool:
    """Whether a number leaves the common dtype of the tensors as it is, and NumPy can use it there without a cast."""
    kind = value.__class__
    if kind is float:
        return common.category >= FLOATING and not common.is_low_precision and -_LARGE < value < _LARGE
    if kind is int:
        return -128 <= value < 128 and (
            common.category >= FLOATING or (common.category == 1 and (value >= 0 or common.is_signed))
        )
    return False


def convert(xp: Any, op: Op, values: list[Any], originals: Any) -> dtype | None:
    """Casts the arrays and numbers among `values` that take part in promotion to their common dtype.

    For an op "to float", the default dtype takes the place of an integer one. An op that upcasts computes two-byte
    floats in float32; then the dtype to which its results must be cast back is returned, otherwise None.

    Raises NotImplementedError for a type that isn't of the op's `categories`.
    """
    present = [position for position in op.promoted if originals[position] is not None]
    flat = [
        each for i in present for each in (originals[i] if isinstance(originals[i], (list, tuple)) else (originals[i],))
    ]
    common = common_type(flat)
    if op.types.promotion == TO_FLOAT and common.category < FLOATING:
        common = get_default_dtype()
    if common.category not in op.types.categories:
        raise errors.not_implemented(f"{op.name}_cpu", common.name)
    compute = float32 if op.types.upcast and common.is_low_precision else common
    exact = {op.schema.positions[name] for name in op.types.exact}
    in_range = {op.schema.positions[name] for name in op.types.in_range}
    for position in present:
        value = values[position]
        if isinstance(value, list):
            values[position] = [cast(xp, each, compute) for each in value]
        elif hasattr(value, "astype") and hasattr(value, "ndim"):
            rounds = compute is not common and not value.ndim and position not in exact
            values[position] = cast(xp, cast(xp, value, common) if rounds else value, compute)
        elif position in in_range:
            values[position] = _number(to_scalar(value, common), compute)
        elif position in exact and common.is_low_precision:
            values[position] = _number(value, float32)
        else:
            values[position] = _number(_number(value, common), compute)
    return common if compute is not common else None


def cast(xp: Any, array: Any, target: dtype) -> Any:
    """The array in another dtype, in the same memory order."""
    if array.dtype == target.numpy:
        return array
    cast = array.astype(target.numpy, order=kept_order(array))
    if array.ndim > 2 and 1 in array.shape and is_dense(array):  # where it lies says whether its channels are last
        return restrided(xp, cast, kept_strides(array, cast.itemsize))
    return cast


def _number(value: Any, target: dtype) -> Any:
    """A number in the target's range: integers of 64 bits wrap around as PyTorch's casts do.

    Raises OverflowError for integers of more bits.
    """
    check_int(value)
    if value.__class__ is int and target.is_low_precision:  # whose types take no large integers
        value = float(value)
    if target.category == 1:
        bits = target.itemsize * 8
        wrapped = int(value) & ((1 << bits) - 1)
        return target.numpy.type(wrapped - (1 << bits) if target.is_signed and wrapped >> (bits - 1) else wrapped)
    return target.numpy.type(value)
