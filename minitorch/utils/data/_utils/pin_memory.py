"""Batches in page-locked memory, out of which GPUs copy directly.

Source: https://pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

from typing import Any

from minitorch.utils.data._utils.collate import mapped


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data with its tensors in page-locked memory, and whatever else has a method `pin_memory`; the rest stays."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, tuple) and not hasattr(data, "_fields"):
        return type(data)(map(pin_memory, data))
    return mapped(pin_memory, data)
