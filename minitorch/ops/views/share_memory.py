"""Tensors in memory that other processes see. The memory itself is in `minitorch.shared_memory`.

Source: https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from minitorch.dispatch.declaration import composite
from minitorch.tensor import Tensor


@composite(variants="method")
def share_memory_(input: Tensor) -> Tensor:
    """Moves the elements to shared memory, where other processes see them, and returns the tensor itself.

    https://pytorch.org/docs/stable/generated/torch.Tensor.share_memory_.html
    """
    input.untyped_storage().share_memory_()
    return input


@composite(variants="method")
def is_shared(input: Tensor) -> bool:
    """Whether the tensor lies in shared memory."""
    return input.untyped_storage().is_shared()
