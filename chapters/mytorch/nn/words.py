"""How modules are printed, and what is said of values that they refuse."""

# 09 · Modules and parameters
from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from ..words import type_name


def refused(name: str, value: Any, table: str) -> str:
    """What PyTorch says of a value that can't take a name's place in a table."""
    kind, wanted = {
        "_parameters": ("parameter", "torch.nn.Parameter or None"),
        "_modules": ("child module", "torch.nn.Module or None"),
        "_buffers": ("buffer", "torch.nn.Buffer, torch.Tensor or None"),
    }[table]
    return f"cannot assign '{type_of(value)}' as {kind} '{name}' ({wanted} expected)"


def type_of(value: Any) -> str:
    """What PyTorch's messages call the type of a value."""
    if type(value) is Tensor:
        return type_name(value.dtype)
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def indented(text: str) -> str:
    """All lines but the first moved right."""
    return text.replace("\n", "\n  ")


def written(name: str, extra: str, lines: list[str]) -> str:
    """The printed form of a module: on one line if nothing is below it."""
    if not lines:
        return f"{name}({extra})"
    return "\n  ".join([f"{name}(", *([extra] if extra else []), *lines]) + "\n)"
