"""Tensors by which PyTorch's compiler finds shapes out. There are none: minitorch has the meta device for that."""

from __future__ import annotations

from typing import Any

from minitorch.unsupported import kind

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]

FakeTensor, FakeTensorMode = (
    kind(f"torch._subclasses.fake_tensor.{name}", "minitorch has the meta device for tensors without elements")
    for name in ("FakeTensor", "FakeTensorMode")
)


def is_fake(x: Any) -> bool:
    """Whether a tensor is one of them: False."""
    return False
