"""Modules with arbitrary first values. Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.skip_init.html"""

from __future__ import annotations

import inspect
from typing import Any

from minitorch.nn.modules.module import Module
from minitorch.random import fork_rng

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Makes a module whose parameters and buffers hold arbitrary values, and which draws no random numbers.

    Raises RuntimeError for classes without an argument `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    with fork_rng():
        module = module_cls(*args, **kwargs)
    return module.to_empty(device=device)
