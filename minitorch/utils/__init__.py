"""What is around tensors: loading data, checkpointing. Source: https://pytorch.org/docs/stable/data.html"""

from minitorch.utils import checkpoint, data, deterministic, dlpack, hooks

__all__ = ["checkpoint", "data", "deterministic", "dlpack", "hooks"]
