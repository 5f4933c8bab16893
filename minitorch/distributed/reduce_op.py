"""How the elements of all processes become one.

Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp
"""

from __future__ import annotations

import enum
import warnings
from typing import Any


class RedOpType(enum.IntEnum):
    """The operations. PREMUL_SUM, which NCCL alone has, exists by name only."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    __str__ = enum.Enum.__str__


class ReduceOp:
    """The names of the operations: `ReduceOp.SUM`, … AVG divides the sum by the number of processes."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __new__(cls, op: Any) -> Any:
        return RedOpType(op)


class _OldNames:
    """`torch.distributed.reduce_op`, the name of long ago."""

    def __getattr__(self, name: str) -> RedOpType:
        warnings.warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
            stacklevel=2,
        )
        return RedOpType[name]


reduce_op = _OldNames()

_UFUNCS = {
    RedOpType.SUM: "add",
    RedOpType.AVG: "add",
    RedOpType.PRODUCT: "multiply",
    RedOpType.MIN: "minimum",
    RedOpType.MAX: "maximum",
    RedOpType.BAND: "bitwise_and",
    RedOpType.BOR: "bitwise_or",
    RedOpType.BXOR: "bitwise_xor",
}
_OF_BITS = frozenset({RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR})
_NOT_OF_COMPLEX = _OF_BITS | {RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX}
_NOT_SUPPORTED = frozenset({"int16", "complex64", "complex128"})


def supports_complex(reduceOp: RedOpType) -> bool:
    """Whether complex numbers can be reduced by it: real and imaginary parts are reduced apart."""
    return reduceOp not in _NOT_OF_COMPLEX


def check_element_type(dtype: str) -> None:
    """Raises RuntimeError for the dtypes that PyTorch's Gloo doesn't send."""
    if dtype in _NOT_SUPPORTED:
        raise RuntimeError("Invalid scalar type")


def check_reduction(op: Any, dtype: str) -> None:
    """Raises TypeError for what is no reduction, RuntimeError for one that doesn't go with the dtype of that name."""
    if not isinstance(op, RedOpType) or op not in _UFUNCS:
        raise TypeError(f"incompatible function arguments: {op!r} is no ReduceOp")
    check_element_type(dtype)
    if op in _OF_BITS and "float" in dtype:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")


def library_name(op: RedOpType) -> str:
    """What MPI and NCCL call it. An AVG is their SUM, and divided afterwards."""
    return {RedOpType.AVG: "SUM", RedOpType.PRODUCT: "PROD"}.get(op, op.name)


def ufunc(array: Any, op: RedOpType) -> Any:
    """The function that reduces two arrays like this one; for AVG it adds."""
    return getattr(array.__array_namespace__(), _UFUNCS[op])
