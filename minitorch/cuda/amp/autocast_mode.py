"""autocast on CUDA by its old name. Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference"""

from __future__ import annotations

from typing import Any

from minitorch import amp
from minitorch.amp.old_names import warn
from minitorch.dtypes import dtype as Dtype
from minitorch.dtypes import float16

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """The old form of `amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Dtype = float16, cache_enabled: bool = True) -> None:
        warn("cuda.amp.autocast(args...)", "amp.autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Dtype | None = None) -> Any:
    """The old form of `amp.custom_fwd(..., device_type="cuda")`."""
    warn("cuda.amp.custom_fwd(args...)", "amp.custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """The old form of `amp.custom_bwd(..., device_type="cuda")`."""
    warn("cuda.amp.custom_bwd(args...)", "amp.custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
