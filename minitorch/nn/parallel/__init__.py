"""Modules on several devices. Source: https://pytorch.org/docs/stable/nn.html#dataparallel-layers-multi-gpu-distributed"""

from minitorch.nn.parallel.data_parallel import DataParallel

__all__ = ["DataParallel"]
