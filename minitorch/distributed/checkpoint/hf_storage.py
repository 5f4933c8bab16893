"""Checkpoints in Hugging Face's format that several processes write: the names alone.

Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from minitorch.distributed.checkpoint import _REASON
from minitorch.unsupported import kind

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

HuggingFaceStorageReader = kind("torch.distributed.checkpoint.HuggingFaceStorageReader", _REASON)
HuggingFaceStorageWriter = kind("torch.distributed.checkpoint.HuggingFaceStorageWriter", _REASON)
