"""Whether an op casts its result to the type of `out=`: elementwise ones and sums do, others refuse, as PyTorch's.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.op import CASTS
from minitorch.dtypes import C_NAMES, FROM_NUMPY
from minitorch.tensor import Tensor

SAME_TYPE = "same type"
"""What `out=` of another type means for an elementwise op that refuses it."""


def check_out_type(rule: str, target: Tensor, array: Any) -> None:
    """Raises RuntimeError where an op doesn't cast its result to the type of the tensor given as `out`; `rule` is the
    op's option `out_type`.
    """
    if array.dtype != target._dtype.numpy and rule != CASTS:
        one, other = (C_NAMES[each] for each in (FROM_NUMPY[array.dtype].name, target._dtype.name))
        raise RuntimeError(f"Expected out tensor to have dtype {one}, but got {other} instead")
