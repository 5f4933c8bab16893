"""autocast on CUDA by its old name. Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference"""

from __future__ import annotations

import warnings
from typing import Any

from minitorch import amp
from minitorch.dtypes import dtype as Dtype
from minitorch.dtypes import float16

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """The old form of `amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Dtype = float16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. "
            "Please use `torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Dtype | None = None) -> Any:
    """The old form of `amp.custom_fwd(..., device_type="cuda")`."""
    warnings.warn(
        "`torch.cuda.amp.custom_fwd(args...)` is deprecated. "
        "Please use `torch.amp.custom_fwd(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """The old form of `amp.custom_bwd(..., device_type="cuda")`."""
    warnings.warn(
        "`torch.cuda.amp.custom_bwd(args...)` is deprecated. "
        "Please use `torch.amp.custom_bwd(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return amp.custom_bwd(bwd, device_type="cuda")
