"""What packages look up among PyTorch's compiled functions of layers."""

from __future__ import annotations

from typing import Any

from minitorch.devices import device
from minitorch.ops.creation.conversion import parse_to


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of `to` in order: device, dtype, whether it may go on before the copy is done, memory format."""
    where, dtype, _, memory_format = parse_to(args, **kwargs)
    return None if where is None else device(where), dtype, bool(kwargs.get("non_blocking", False)), memory_format
