"""Making tensors of several processes the same: many at a time, since each message has its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minitorch
from minitorch.distributed.process_group import ProcessGroup
from minitorch.tensor import Tensor

torch: Any = minitorch


def broadcast_coalesced(group: ProcessGroup, tensors: Sequence[Tensor], root: int) -> None:
    """Copies the root's tensors into those of the others: all of one dtype and device as one."""
    alike: dict[Any, list[Any]] = {}
    for tensor in tensors:
        alike.setdefault((tensor.dtype, tensor.device), []).append(tensor.detach())
    for same in alike.values():
        joined: Any = torch.cat([each.reshape(-1) for each in same])
        group.broadcast([joined], root, async_op=False).wait()
        for each, piece in zip(same, joined.split([each.numel() for each in same]), strict=True):
            each._put(piece._array.reshape(each.shape))  # no write that a version counter would tell of


def check_same_parameters(group: ProcessGroup, parameters: Sequence[Tensor]) -> None:
    """Raises RuntimeError unless all processes have equally many parameters, of the shapes that process 0 has."""
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(group.size())]
    group.allgather([counts], [torch.tensor([len(parameters)])], async_op=False).wait()
    for rank, count in enumerate(counts):
        if int(count) != len(parameters):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {group.rank()} has {len(parameters)} params, while "
                f"rank {rank} has inconsistent {int(count)} params."
            )
    here = torch.tensor([each for parameter in parameters for each in (parameter.dim(), *parameter.shape)])
    length = torch.tensor([len(here)])
    group.broadcast([length], 0, async_op=False).wait()
    there = here.clone() if group.rank() == 0 else torch.zeros(int(length), dtype=torch.int64)
    group.broadcast([there], 0, async_op=False).wait()
    sizes = iter(there.tolist())
    for index, parameter in enumerate(parameters):
        if [next(sizes) for _ in range(next(sizes))] != list(parameter.shape):
            raise RuntimeError(
                f"[{group.rank()}]: params[{index}] in this process with sizes {list(parameter.shape)} appears not to "
                "match sizes of the same param in process 0."
            )
