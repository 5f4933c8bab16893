"""What `torch.cuda.amp` and `torch.cpu.amp` share, the old names of mixed precision for one type of device.

Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference
"""

from __future__ import annotations

import warnings
from typing import ClassVar

from minitorch.amp.grad_scaler import GradScaler


def warn(old: str, new: str) -> None:
    """Warns whoever calls the function that calls this: "cuda.amp.autocast(args...)" has a new form."""
    warnings.warn(f"`torch.{old}` is deprecated. Please use `torch.{new}` instead.", FutureWarning, stacklevel=3)


class OldGradScaler(GradScaler):
    """A GradScaler for one type of device."""

    _device_type: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        kind = self._device_type
        warn(f"{kind}.amp.GradScaler(args...)", f"amp.GradScaler('{kind}', args...)")
        super().__init__(kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
