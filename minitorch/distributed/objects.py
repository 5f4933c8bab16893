"""Collectives of any objects that can be pickled: as tensors of bytes, whose lengths travel first.

Unpickling runs code: use them among processes that you trust.
Source: https://pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import minitorch
from minitorch.distributed.checks import check_not_self, check_only_at_root, group_rank, not_in_group, of_group
from minitorch.distributed.collectives import all_gather, broadcast, gather, scatter
from minitorch.distributed.distributed_c10d import Group, _group_or_default_group, get_global_rank
from minitorch.distributed.point_to_point import recv, send
from minitorch.tensor import Tensor

torch: Any = minitorch


def _pack(value: Any) -> Tensor:
    packed: Tensor = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
    return packed


def _unpack(packed: Tensor, length: int) -> Any:
    return pickle.loads(packed[:length].numpy().tobytes())


def _padded(packed: Tensor, length: int) -> Tensor:
    """The bytes, lengthened: those of all processes travel in pieces of one length."""
    longer: Tensor = torch.zeros(length, dtype=torch.uint8)
    longer[: len(packed)] = packed
    return longer


def _lengths(packed: Tensor, group: Any) -> list[int]:
    """How long what each process has is."""
    lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(group.size())]
    all_gather(lengths, torch.tensor([len(packed)]), group=group)
    return [int(length) for length in lengths]


def _put(object_list: list[Any], pieces: Iterable[Tensor], lengths: Iterable[int]) -> None:
    """Replaces the elements of a list by what is packed in the pieces."""
    for i, (piece, length) in enumerate(zip(pieces, lengths, strict=True)):
        object_list[i] = _unpack(piece, length)


def _empty(count: int, length: int) -> list[Tensor]:
    return [torch.empty(length, dtype=torch.uint8) for _ in range(count)]


@of_group
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts the object of process i into `object_list[i]` of every process."""
    packed = _pack(obj)
    lengths = _lengths(packed, group)
    pieces = _empty(group.size(), max(lengths))
    all_gather(pieces, _padded(packed, max(lengths)), group=group)
    _put(object_list, pieces, lengths)


@of_group
def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Puts the object of process i into `object_gather_list[i]` of process `dst` (0); the others give no list."""
    root = group_rank(group, dst, group_dst, default=0)
    check_only_at_root(group.rank(), root, "gather_list", object_gather_list, "destination")
    packed = _pack(obj)
    lengths = _lengths(packed, group)
    pieces = _empty(group.size(), max(lengths)) if group.rank() == root else None
    gather(_padded(packed, max(lengths)), pieces, group_dst=root, group=group)
    if pieces is not None and object_gather_list is not None:
        _put(object_gather_list, pieces, lengths)


def _joined(object_list: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """The lengths of the objects, and all their bytes."""
    packed = [_pack(value) for value in object_list]
    return torch.tensor([len(each) for each in packed]), torch.cat(packed)


@of_group
def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Replaces the elements of the list in all processes by those of process `src` (0)."""
    root = group_rank(group, src, group_src, default=0)
    if group.rank() == root:
        lengths, joined = _joined(object_list)
    else:
        lengths = torch.zeros(len(object_list), dtype=torch.int64)
    broadcast(lengths, group_src=root, group=group)
    if group.rank() != root:
        joined = torch.empty(int(lengths.sum()), dtype=torch.uint8)
    broadcast(joined, group_src=root, group=group)
    if group.rank() != root:
        _put(object_list, joined.split(lengths.tolist()), lengths.tolist())


@of_group
def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Puts `scatter_object_input_list[i]` of process `src` (0) into the first place of the output list of process i."""
    root = group_rank(group, src, group_src, default=0)
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    pieces = lengths = None
    longest = torch.zeros(1, dtype=torch.int64)
    if group.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        packed = [_pack(value) for value in scatter_object_input_list]
        lengths = [torch.tensor([len(each)]) for each in packed]
        longest += max(len(each) for each in packed)
        pieces = [_padded(each, int(longest)) for each in packed]
    broadcast(longest, group_src=root, group=group)
    (piece,) = _empty(1, int(longest))
    scatter(piece, pieces, group_src=root, group=group)
    length = torch.zeros(1, dtype=torch.int64)
    scatter(length, lengths, group_src=root, group=group)
    scatter_object_output_list[0] = _unpack(piece, int(length))


@of_group
def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends the elements of a list to process `dst`."""
    destination = group_rank(group, dst, group_dst)
    check_not_self(group, destination, "destination")
    for tensor in _joined(object_list):
        send(tensor, group_dst=destination, group=group)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Replaces the elements of a list by those that process `src` sends; its rank."""
    if not_in_group(group, "recv_object_list"):
        return -1
    group = _group_or_default_group(group)
    source = group_rank(group, src, group_src)
    check_not_self(group, source, "source")
    lengths = torch.zeros(len(object_list), dtype=torch.int64)
    recv(lengths, group=group, group_src=source)
    joined = torch.empty(int(lengths.sum()), dtype=torch.uint8)
    recv(joined, group=group, group_src=source)
    _put(object_list, joined.split(lengths.tolist()), lengths.tolist())
    return get_global_rank(group, source)
