"""Modules on several devices or in several processes.

Source: https://pytorch.org/docs/stable/nn.html#dataparallel-layers-multi-gpu-distributed
"""

import importlib
from typing import Any

from minitorch.nn.parallel import comm
from minitorch.nn.parallel.data_parallel import DataParallel, data_parallel
from minitorch.nn.parallel.parallel_apply import parallel_apply
from minitorch.nn.parallel.replicate import replicate
from minitorch.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel", "DistributedDataParallel", "comm", "data_parallel", "gather", "parallel_apply", "replicate",
    "scatter",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # It brings the package of distributed processes, which other programs don't need.
    if name in ("DistributedDataParallel", "distributed"):
        module = importlib.import_module("minitorch.nn.parallel.distributed")
        return module if name == "distributed" else module.DistributedDataParallel
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute '{name}'")
