"""The older address of `torch.distributed.fsdp.fully_shard`."""

from minitorch.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
