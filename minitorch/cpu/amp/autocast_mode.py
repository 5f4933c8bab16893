"""autocast on CPU by its old name. Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference"""

from __future__ import annotations

from minitorch import amp
from minitorch.amp.old_names import warn
from minitorch.dtypes import bfloat16
from minitorch.dtypes import dtype as Dtype

__all__ = ["autocast"]


class autocast(amp.autocast):
    """The old form of `amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Dtype = bfloat16, cache_enabled: bool = True) -> None:
        warn("cpu.amp.autocast(args...)", "amp.autocast('cpu', args...)")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
