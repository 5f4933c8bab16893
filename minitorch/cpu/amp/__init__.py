"""Mixed precision on the CPU by its old names. Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference"""

from minitorch.cpu.amp.autocast_mode import autocast
from minitorch.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
