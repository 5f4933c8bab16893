"""Mixed precision on GPUs by its old names. Source: https://pytorch.org/docs/stable/amp.html#deprecated-api-reference"""

from minitorch.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from minitorch.cuda.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
