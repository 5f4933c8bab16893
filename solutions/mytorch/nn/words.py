"""How modules are printed, and what is said of values that they refuse."""

# 09 · Modules and parameters
from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from ..words import type_name


def refused(name: str, value: Any, table: str) -> str:
    """What PyTorch says of a value that can't take a name's place in a table."""
    kind = {"_parameters": "parameter", "_modules": "child module", "_buffers": "buffer"}[table]
    wanted = {"_parameters": "Parameter", "_modules": "Module", "_buffers": "Buffer, torch.Tensor"}[table]
    return f"cannot assign '{type_of(value)}' as {kind} '{name}' (torch.nn.{wanted} or None expected)"


def unregistered(kind: str, name: str, value: Any) -> str:
    """What PyTorch says of a value that can't be registered as a "parameter", "buffer" or "module"."""
    if kind == "module":
        return f"{type_of(value)} is not a Module subclass"
    wanted = {"parameter": "torch.nn.Parameter", "buffer": "torch Tensor"}[kind]
    return f"cannot assign '{type_of(value)}' object to {kind} '{name}' ({wanted} or None required)"


def type_of(value: Any) -> str:
    """What PyTorch's messages call the type of a value."""
    if type(value) is Tensor:
        return type_name(value.dtype)
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def unusual(module: Any, usual: dict[str, Any]) -> str:
    """ ", name=value" for each option of a module that differs from its usual value."""
    values = {name: getattr(module, name) for name in usual}
    return "".join(f", {name}={value}" for name, value in values.items() if value != usual[name])


def indented(text: str) -> str:
    """All lines but the first moved right."""
    return text.replace("\n", "\n  ")


def written(name: str, extra: str, lines: list[str]) -> str:
    """The printed form of a module: on one line if nothing is below it."""
    if not lines:
        return f"{name}({extra})"
    return "\n  ".join([f"{name}(", *([extra] if extra else []), *lines]) + "\n)"
