"""Every op, once: its kernel, its derivatives, its names. `declaration` says how, `apply` is where they run.

As PyTorch's `torch.ops` it also finds operators by namespace: `torch.ops.mylib.scale`, `torch.ops.aten.sin.default`.
"""

import importlib
from pathlib import Path
from typing import Any


def __getattr__(name: str) -> Any:
    is_file = any(Path(__file__).with_name(each).exists() for each in (name, f"{name}.py"))
    if name.startswith("__") or is_file:  # which `import` loads itself
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    if name == "aten":
        return importlib.import_module("minitorch.fx.aten").AtenNamespace("aten")
    return importlib.import_module("minitorch.library.operators").OpNamespace(name)
