"""Parameters spread over processes: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/fsdp.html
"""

from minitorch.unsupported import function, kind

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel", "LocalStateDictConfig", "MixedPrecision",
    "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateKeyType", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
    "UnshardHandle", "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip

_REASON = "minitorch spreads no parameters; nn.parallel.DistributedDataParallel trains in several processes"

globals().update({name: kind(f"torch.distributed.fsdp.{name}", _REASON) for name in __all__ if name[0].isupper()})
fully_shard, register_fsdp_forward_method = (
    function(f"torch.distributed.fsdp.{name}", _REASON) for name in ("fully_shard", "register_fsdp_forward_method")
)
