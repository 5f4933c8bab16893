"""Linear algebra: the functions of the op table in this namespace.

Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

from typing import Any

from minitorch.ops.declaration import NAMESPACES
from minitorch.ops.linalg import _LinAlgError as LinAlgError

__all__ = ["LinAlgError"]

globals().update(NAMESPACES["linalg"])


def __getattr__(name: str) -> Any:  # for type checkers: the names above are in no file
    raise AttributeError(f"module 'torch.linalg' has no attribute '{name}'")
