"""A module trained by several processes. https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Not there yet: it raises NotImplementedError."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "nn.parallel.DistributedDataParallel is not supported: minitorch has no processes yet"
        )
