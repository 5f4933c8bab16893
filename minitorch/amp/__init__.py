"""Automatic mixed precision. Source: https://pytorch.org/docs/stable/amp.html"""

from minitorch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from minitorch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
