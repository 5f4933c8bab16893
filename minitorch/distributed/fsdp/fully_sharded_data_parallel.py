"""The module of PyTorch from which packages import the names of `torch.distributed.fsdp`."""

from minitorch.distributed.fsdp import *  # noqa: F403
