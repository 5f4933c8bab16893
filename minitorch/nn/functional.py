"""The functions that layers are made of: those of the op table in this namespace, under PyTorch's names.

Source: https://pytorch.org/docs/stable/nn.functional.html
"""

from __future__ import annotations

import importlib
from typing import Any

from minitorch.ops.declaration import NAMESPACES

importlib.import_module("minitorch.ops.layer_table")  # no statement: type checkers don't resolve the circle of imports
globals().update(NAMESPACES["nn.functional"])


def __getattr__(name: str) -> Any:  # for type checkers: the names above are in no file
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")
