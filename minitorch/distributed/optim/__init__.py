"""Optimizers whose state is divided among processes. Source: https://pytorch.org/docs/stable/distributed.optim.html"""

from minitorch.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
