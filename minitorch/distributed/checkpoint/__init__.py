"""Checkpoints that several processes write: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from minitorch.unsupported import function

__all__ = ["async_save", "load", "save"]

_REASON = "minitorch has no distributed checkpoints; let one process call torch.save"
async_save, load, save = (function(f"torch.distributed.checkpoint.{name}", _REASON) for name in __all__)
