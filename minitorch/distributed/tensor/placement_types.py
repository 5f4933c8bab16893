"""How a tensor is distributed over the devices of a mesh: the names alone.

Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html#module-torch.distributed.tensor.placement_types
"""

from dataclasses import dataclass

from minitorch.distributed.tensor import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


@dataclass(frozen=True)
class _StridedShard(Shard):
    """In parts along a dimension that was divided before, as by tensor parallelism under FSDP."""

    split_factor: int = 1
