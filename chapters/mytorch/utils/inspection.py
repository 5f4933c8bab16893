"""What the layers inside a model give, seen by hooks."""

# 21 · Features, transfer and pictures
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..dispatch import Function
from ..nn import Module
from ..tensor import Tensor


@contextmanager
def features(model: Module, names: Sequence[str]) -> Iterator[dict[str, Tensor]]:
    """Copies of what the modules of these names give when the model is called in the block, by name."""
    modules = {name: model.get_submodule(name) for name in names}  # a wrong name raises before there is any hook
    found: dict[str, Tensor] = {}

    def keep(name: str) -> Function:
        def hook(module: Module, args: Any, result: Tensor) -> None:
            found[name] = result.detach().clone()

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in modules.items()]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
