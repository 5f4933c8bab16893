"""A module that divides its batches among GPUs, of which there are none here.

Source: https://pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.nn.modules.module import Module


class DataParallel(Module):
    """Calls `module`, as PyTorch does where there is no GPU: the other arguments are for those.

    The names in its state dict begin with "module.".
    """

    def __init__(
        self, module: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """One call of a module on several GPUs. Raises RuntimeError, as PyTorch does where there is none."""
    raise RuntimeError("device type could not be determined")
