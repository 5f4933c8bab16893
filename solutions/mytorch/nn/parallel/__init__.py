"""One module on several GPUs or ranks."""

# 23 · Several GPUs
from .data_parallel import DataParallel, gather, parallel_apply, replicate, scatter
from .distributed import DistributedDataParallel

# 23b · Shards
from .sharding import ZeroRedundancyOptimizer, fully_shard
