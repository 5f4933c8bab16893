"""Which writes PyTorch refuses because elements share places in memory.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/MemoryOverlap.cpp
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch.backend import Array
from minitorch.layout import is_dense
from minitorch.ops.declaration import Op
from minitorch.tensor import Tensor

_TOLERANT = {
    "index_put": ("index_put_", "tensor[indices] = tensor"),
    "fill_where": ("masked_fill_", "tensor[mask] = scalar"),
    "index_fill": ("index_fill_", "tensor[mask] = scalar"),
}
"""Ops that only warn when they write to expanded tensors: their public names, and what else means them."""


def check_target(array: Array, op: str = "", args: Sequence[Any] = ()) -> None:
    """Raises RuntimeError where two elements lie in one place, as in expanded tensors: a write would change both."""
    if not array.size:
        return
    tensors = [each for each in args if isinstance(each, Tensor)]
    if (op in ("fill", "zero") and not tensors) or (op == "copy" and tensors[0]._array is array):
        return
    if not any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)):
        return
    if op not in _TOLERANT:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    name, indexing = _TOLERANT[op]
    warnings.warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. {indexing}",
        UserWarning,
        stacklevel=4,
    )


def check_sources(op: Op, target: Tensor, args: Sequence[Any]) -> None:
    """Raises RuntimeError where an argument shares a part of the memory that is written to.

    Elementwise ops may read just the elements that they write; the others may not read the target at all.
    """
    storage = target._storage
    if storage is None or op.name == "fill":
        return
    may_coincide = not op.edits or op.name in ("copy", "fill_where")
    for each in args:
        if isinstance(each, (tuple, list)):
            check_sources(op, target, each)
        elif not isinstance(each, Tensor) or each._storage is not storage or each is target:
            continue
        elif _overlap(target._array, each._array, may_coincide):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _overlap(target: Array, source: Array, may_coincide: bool) -> bool:
    """Whether two arrays share memory, and perhaps are not the same; where one has gaps that is not looked into."""
    if not target.size or not source.size or not is_dense(target) or not is_dense(source):
        return False
    (first, end), (other_first, other_end) = (_span(each) for each in (target, source))
    if first == other_first and end == other_end and target.strides == source.strides:
        return not may_coincide
    return first < other_end and other_first < end


def _span(array: Array) -> tuple[int, int]:
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes
