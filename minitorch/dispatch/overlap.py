"""Which writes PyTorch refuses because elements share memory.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/MemoryOverlap.cpp
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from minitorch.arrays import Array, pointer_of
from minitorch.dispatch.op import Op
from minitorch.layout import is_dense
from minitorch.tensor import Tensor

ANY_TARGET, ANY_SOURCE, NO_SOURCE, OF_BITS = "any target", "any source", "no source", "of bits"
"""The values of the option `overlap`, which changes the checks of an op.

ANY_TARGET: elements that are written may share memory with each other. ANY_SOURCE: tensors that are read may share
memory with the one that is written. NO_SOURCE: they may not even be the same tensor, as in ops that write to the
positions of an index. OF_BITS: conjugate and negative views are written in place, and checked, where other ops compute
in a copy.
"""


def check_write(op: Op, args: Sequence[Any]) -> None:
    """Raises RuntimeError where an op may not write to its first argument because of what shares its memory."""
    target, writes = args[0], op.writes
    if target._bits and OF_BITS not in writes.overlap:
        check_target(target._array)
        return
    keeps_values = writes.unchanged is not None and writes.unchanged(args)
    if 0 in target._array.strides and ANY_TARGET not in writes.overlap and not keeps_values:
        check_target(target._array, writes.on_expanded)
    other = writes.redirect(args) if writes.redirect is not None else None
    if other is not None:
        check_write(*other)
    else:
        check_sources(op, target, (None, *args[1:]))


def arrays(value: Any) -> Any:
    """The arrays of tensors, also of those in sequences."""
    if isinstance(value, (tuple, list)):
        return [arrays(each) for each in value]
    return value._array if isinstance(value, Tensor) else value


def check_target(array: Array, on_expanded: tuple[str, str] | None = None) -> None:
    """Raises RuntimeError where two elements share memory, as in expanded tensors: a write would change both.

    With `on_expanded`, the name of a method and the indexing that means the same, it only warns.
    """
    if not array.size or not any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)):
        return
    if on_expanded is None:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    name, indexing = on_expanded
    warnings.warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. {indexing}",
        UserWarning,
        stacklevel=5,
    )


def check_sources(op: Op, target: Tensor, args: Sequence[Any]) -> None:
    """Raises RuntimeError where an argument shares a part of the memory that is written to.

    It may be the very elements that are written, unless the op's option is NO_SOURCE.
    """
    overlap, written = op.writes.overlap, op.schema.positions.get(op.writes.written_value)
    if ANY_SOURCE in overlap:
        return
    apart = NO_SOURCE in overlap
    for each in tensors_in(value for position, value in enumerate(args) if position != written):
        if each is target:
            refused = apart
        elif target._storage is None or each._storage is not target._storage:
            refused = False
        elif (each._bits or target._bits) and OF_BITS not in overlap:
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


def coincide(one: Array, other: Array) -> bool:
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
    return pointer_of(array)
