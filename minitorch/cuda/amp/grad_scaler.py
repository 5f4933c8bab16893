"""GradScaler for CUDA by its old name. Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference"""

from __future__ import annotations

from minitorch.amp.old_names import OldGradScaler

__all__ = ["GradScaler"]


class GradScaler(OldGradScaler):
    """The old form of `amp.GradScaler("cuda", ...)`."""

    _device_type = "cuda"
