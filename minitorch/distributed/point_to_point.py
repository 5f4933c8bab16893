"""One process sends, another receives.

Source: https://pytorch.org/docs/stable/distributed.html#point-to-point-communication
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.distributed.checks import as_real, check_not_self, check_single_tensor, group_rank, of_group
from minitorch.distributed.distributed_c10d import Group, _group_or_default_group, get_global_rank, get_rank
from minitorch.distributed.work import Work
from minitorch.tensor import Tensor


@of_group
def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Sends a tensor to process `dst` (or, in the group's own numbers, `group_dst`), who receives it with this tag."""
    destination = group_rank(group, dst, group_dst)
    check_single_tensor(tensor, "tensor")
    return group.send([as_real(tensor)], destination, tag)


@of_group
def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Receives a tensor from process `src`, or from any: it is there after `wait()` of the Work that is returned."""
    check_single_tensor(tensor, "tensor")
    if src is None and group_src is None:
        return group.recv_anysource([as_real(tensor)], tag)
    return group.recv([as_real(tensor)], group_rank(group, src, group_src), tag)


@of_group
def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """`isend`, and waits until the tensor is on its way."""
    destination = group_rank(group, dst, group_dst)
    check_not_self(group, destination, "destination")
    work = isend(tensor, group=group, tag=tag, group_dst=destination)
    assert work is not None
    work.wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Group = None, tag: int = 0, group_src: int | None = None
) -> int:
    """`irecv`, and waits until the tensor is there. Returns who sent it; -1 where this process isn't in the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    group = _group_or_default_group(group)
    if src is not None:
        return src
    return get_global_rank(group, work.source_rank() if group_src is None else group_src)


class P2POp:
    """A send or a receive that `batch_isend_irecv` is to do: `op` is `isend` or `irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_single_tensor(tensor, "tensor")
        self.op = op
        self.tensor = tensor
        self.group = _group_or_default_group(group)
        self.group_peer = group_rank(self.group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer) if peer is None else peer
        self.tag = tag

    def __repr__(self) -> str:
        ends = [get_rank(self.group), self.group_peer]
        source, destination = ends if self.op is isend else ends[::-1]
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={destination},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begins all the sends and receives of a list."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if any(each.group is not p2p_op_list[0].group for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    return [
        each.op(each.tensor, group=each.group, tag=each.tag, **{_peer_name(each): each.group_peer})
        for each in p2p_op_list
    ]


def _peer_name(operation: P2POp) -> str:
    return "group_dst" if operation.op is isend else "group_src"
