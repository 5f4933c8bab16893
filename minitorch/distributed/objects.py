"""Collectives of any objects that can be pickled: as tensors of bytes, whose lengths travel first.

Unpickling runs code: use them among processes that you trust.
Source: https://pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import minitorch
from minitorch.distributed.checks import check_not_self, group_rank, not_in_group
from minitorch.distributed.collectives import all_gather, broadcast, check_output_list, gather, scatter
from minitorch.distributed.distributed_c10d import Group, _group_or_default_group, get_global_rank
from minitorch.distributed.point_to_point import irecv, isend
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


def _empty(count: int, length: int) -> list[Tensor]:
    return [torch.empty(length, dtype=torch.uint8) for _ in range(count)]


def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Puts the object of process i into `object_list[i]` of every process."""
    if not_in_group(group, "all_gather_object"):
        return
    group = _group_or_default_group(group)
    packed = _pack(obj)
    lengths = _lengths(packed, group)
    pieces = _empty(group.size(), max(lengths))
    all_gather(pieces, _padded(packed, max(lengths)), group=group)
    for i, (piece, length) in enumerate(zip(pieces, lengths, strict=True)):
        object_list[i] = _unpack(piece, length)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Puts the object of process i into `object_gather_list[i]` of process `dst` (0); the others give no list."""
    if not_in_group(group, "gather_object"):
        return
    group = _group_or_default_group(group)
    root = group_rank(group, 0 if dst is None and group_dst is None else dst, group_dst)
    check_output_list(group.rank(), root, object_gather_list)
    packed = _pack(obj)
    lengths = _lengths(packed, group)
    pieces = _empty(group.size(), max(lengths)) if group.rank() == root else None
    gather(_padded(packed, max(lengths)), pieces, group_dst=root, group=group)
    if pieces is not None and object_gather_list is not None:
        for i, (piece, length) in enumerate(zip(pieces, lengths, strict=True)):
            object_gather_list[i] = _unpack(piece, length)


def _joined(object_list: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """The lengths of the objects, and all their bytes."""
    packed = [_pack(value) for value in object_list]
    return torch.tensor([len(each) for each in packed]), torch.cat(packed)


def _put(object_list: list[Any], lengths: Tensor, joined: Tensor) -> None:
    for i, piece in enumerate(joined.split(lengths.tolist())):
        object_list[i] = _unpack(piece, len(piece))


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Group = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Replaces the elements of the list in all processes by those of process `src` (0)."""
    if not_in_group(group, "broadcast_object_list"):
        return
    group = _group_or_default_group(group)
    root = group_rank(group, 0 if src is None and group_src is None else src, group_src)
    if group.rank() == root:
        lengths, joined = _joined(object_list)
    else:
        lengths = torch.zeros(len(object_list), dtype=torch.int64)
    broadcast(lengths, group_src=root, group=group)
    if group.rank() != root:
        joined = torch.empty(int(lengths.sum()), dtype=torch.uint8)
    broadcast(joined, group_src=root, group=group)
    if group.rank() != root:
        _put(object_list, lengths, joined)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Puts `scatter_object_input_list[i]` of process `src` (0) into the first place of the output list of process i."""
    if not_in_group(group, "scatter_object_list"):
        return
    group = _group_or_default_group(group)
    root = group_rank(group, 0 if src is None and group_src is None else src, group_src)
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


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Group = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends the elements of a list to process `dst`."""
    if not_in_group(group, "send_object_list"):
        return
    group = _group_or_default_group(group)
    destination = group_rank(group, dst, group_dst)
    check_not_self(group, destination, "destination")
    for tensor in _joined(object_list):
        work = isend(tensor, group_dst=destination, group=group)
        assert work is not None
        work.wait()


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
    _receive(lengths, source, group)
    joined = torch.empty(int(lengths.sum()), dtype=torch.uint8)
    _receive(joined, source, group)
    _put(object_list, lengths, joined)
    return get_global_rank(group, source)


def _receive(tensor: Tensor, source: int, group: Any) -> None:
    work = irecv(tensor, group_src=source, group=group)
    assert work is not None
    work.wait()
