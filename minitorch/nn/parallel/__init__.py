"""Modules on several devices. Source: https://pytorch.org/docs/stable/nn.html#dataparallel-layers-multi-gpu-distributed"""

from minitorch.nn.parallel.data_parallel import DataParallel, data_parallel
from minitorch.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
