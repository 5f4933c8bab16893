"""The functions that layers are made of: those of the op table in this namespace, under PyTorch's names.

Source: https://pytorch.org/docs/stable/nn.functional.html
"""

from __future__ import annotations

from typing import Any

from minitorch.ops import layer_table  # noqa: F401
from minitorch.ops.declaration import NAMESPACES

globals().update(NAMESPACES["nn.functional"])


def __getattr__(name: str) -> Any:  # for type checkers: the names above are in no file
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")
