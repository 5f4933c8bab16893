"""Python's numbers as PyTorch's kernels read them.

Two steps lie between a number in a program and one in a kernel, and each refuses what it can't hold. The call makes a
`Scalar` of the number, whose integers have 64 bits, and the kernel converts that to the dtype in which it computes.
Where a number meets a tensor as an operand, as in x + 300, the second step is a cast instead, which wraps around or
gives an infinity.
Source: `Scalar::to` in c10/core/Scalar.h and `overflows` in c10/util/TypeCast.h.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from minitorch.dtypes import (
    BOOL,
    C_NAMES,
    COMPLEX,
    INTEGER,
    bfloat16,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int32,
    int64,
)

Number = Any


def check_int(value: Number) -> None:
    """Raises OverflowError for an int that doesn't fit into 64 bits, signed or unsigned."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


def to_scalar(value: Number, kind: dtype) -> Any:
    """A number as a dtype can hold it: a float is truncated to an int. Raises RuntimeError if it is out of range.

    Infinities and NaN are in the range of floats, and so are integers from −max to −1 in that of unsigned integers, in
    which they wrap around.
    """
    lowest, highest = _limits(kind)
    if value.__class__ is _PLAIN.get(kind) and lowest <= value <= highest:  # as nearly always
        return value
    check_int(value)
    if kind.category == BOOL:
        return bool(value)
    if isinstance(value, complex):
        if kind.category < COMPLEX and value.imag:
            raise overflow(kind)
        if kind.category == COMPLEX:
            return complex(to_scalar(value.real, kind), to_scalar(value.imag, kind))
        value = value.real
    if kind.category != INTEGER:
        if not (lowest <= value <= highest or math.isinf(value) or value != value):
            raise overflow(kind)
        return float(value) if kind.is_low_precision else value  # whose types take no large integers
    if isinstance(value, int) and lowest == 0 and value < 0:
        lowest = -highest
    if not lowest <= value <= (highest if isinstance(value, int) else float(highest)):
        raise overflow(kind)
    return int(value) % (highest + 1) if value < 0 and lowest == -highest else min(int(value), highest)


@functools.cache
def _limits(kind: dtype) -> tuple[Number, Number]:
    if kind.category == BOOL:
        return False, True
    limits = iinfo(kind) if kind.category == INTEGER else finfo(kind)
    return limits.min, limits.max


_PLAIN = {float32: float, float64: float, int64: int, float16: float, bfloat16: float}
"""The dtypes of most tensors, and the class of the numbers that they hold as they are."""


def overflow(kind: dtype) -> Exception:
    """The error for a number that a dtype can't hold."""
    name = "int" if kind is int32 else f"{kind.name}_t" if kind.category == INTEGER else C_NAMES[kind.name]
    return RuntimeError(f"value cannot be converted to type {name} without overflow")
