"""Which writes PyTorch refuses because elements share places in memory.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/MemoryOverlap.cpp
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import FLOATING
from minitorch.layout import is_dense
from minitorch.ops.declaration import OPS, Op
from minitorch.tensor import Tensor

_WARNING = {
    "index_put": ("index_put_", "tensor[indices] = tensor"),
    "fill_where": ("masked_fill_", "tensor[mask] = scalar"),
    "index_fill": ("index_fill_", "tensor[mask] = scalar"),
}
"""Ops that only warn when they write to expanded tensors: their public names, and what else means them."""

_ANY_TARGET = frozenset({"zero", "threshold", "tril", "triu", "addmv", "baddbmm"})
"""Ops that don't look at whether the elements they write to share places."""

_ANY_SOURCE = frozenset({"fill", "ldexp", "scatter_where", "addmm", "addmv", "addbmm", "baddbmm"})
"""Ops that don't look at whether what they read shares memory with what they write."""

_NO_SOURCE = frozenset({"kthvalue", "masked_select"})
"""Ops that may not read the target of `out=` at all, as those that are given places by index."""

_FREE_SOURCE = {"fill_where": "value", "index_fill": "value"}
"""The parameters of other ops of which the same is true."""


def check_write(op: Op, args: Sequence[Any]) -> None:
    """Raises RuntimeError where an op may not write to its first argument because of what lies in the same memory."""
    target = args[0]
    if target._bits and op.name != "copy":  # it computes in memory of its own, which is then copied
        check_target(target._array)
        return
    if 0 in target._array.strides and op.name not in _ANY_TARGET and not _changes_nothing(op.name, args):
        check_target(target._array, op.name)
    if op.name == "index_put" and fills_mask(*map(_arrays, args[1:])):
        check_write(OPS["fill_where"], (target, next(each for each in args[1] if each is not None), args[2]))
    else:
        check_sources(op, target, (None, *args[1:]))


def fills_mask(indices: Sequence[Array | None], values: Array, accumulate: bool) -> bool:
    """Whether with these arguments `index_put` writes one number where one mask is true."""
    given = [each.dtype for each in indices if each is not None]
    return not accumulate and values.size == 1 and len(given) == 1 and given[0] in ("bool", "uint8")


def _arrays(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_arrays(each) for each in value]
    return value._array if isinstance(value, Tensor) else value


def _changes_nothing(op: str, args: Sequence[Any]) -> bool:
    """Whether all elements are to get the values they have, or all the same one."""
    target, kind = args[0], args[0]._dtype
    if op == "copy":
        same_kind = kind is args[1]._dtype and target._bits == args[1]._bits
        return same_kind and _coincide(target._array, args[1]._array)
    if op == "fill":
        return not isinstance(args[1], Tensor)
    return (op == "nan_to_num" and kind.category < FLOATING) or (op == "conj_physical" and not kind.is_complex)


def check_target(array: Array, op: str = "") -> None:
    """Raises RuntimeError where two elements lie in one place, as in expanded tensors: a write would change both."""
    if not array.size or not any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)):
        return
    if op not in _WARNING:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    name, indexing = _WARNING[op]
    warnings.warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. {indexing}",
        UserWarning,
        stacklevel=5,
    )


def check_sources(op: Op, target: Tensor, args: Sequence[Any]) -> None:
    """Raises RuntimeError where an argument shares a part of the memory that is written to.

    Ops that are given places by index may not read the target at all; the others may read just the elements that they
    write.
    """
    if op.name in _ANY_SOURCE:
        return
    apart = op.name in _NO_SOURCE or "index" in op.positions or "indices" in op.positions
    free = op.positions.get(_FREE_SOURCE.get(op.name, ""))
    for each in tensors_in(value for position, value in enumerate(args) if position != free):
        if each is target:
            refused = apart
        elif target._storage is None or each._storage is not target._storage:
            refused = False
        elif (each._bits or target._bits) and op.name != "copy":
            refused = False  # one of the two is a copy
        else:
            refused = _overlap(target._array, each._array, may_coincide=not apart)
        if refused:
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def tensors_in(values: Any) -> Iterator[Tensor]:
    """The tensors among arguments, also those in sequences."""
    for each in values:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from tensors_in(each)


def _coincide(one: Array, other: Array) -> bool:
    """Whether two arrays are the same elements in the same order."""
    return _start(one) == _start(other) and one.shape == other.shape and one.strides == other.strides and one.size > 0


def _overlap(target: Array, source: Array, may_coincide: bool) -> bool:
    """Whether two arrays share memory, and perhaps are not the same; where one has gaps that is not looked into."""
    if not target.size or not source.size or not is_dense(target) or not is_dense(source):
        return False
    first, other = _start(target), _start(source)
    if first == other and target.nbytes == source.nbytes and target.strides == source.strides:
        return not may_coincide
    return first < other + source.nbytes and other < first + target.nbytes


def _start(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
