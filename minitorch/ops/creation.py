"""Tensors out of nothing, out of Python data, and out of NumPy arrays.

Source: https://pytorch.org/docs/stable/torch.html#creation-ops
"""

from __future__ import annotations

from typing import Any

from minitorch.ops.declaration import composite
from minitorch.tensor import Tensor, make_tensor


@composite(variants="function")
def ones_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    kind = input._dtype if dtype is None else dtype
    return make_tensor(input._device.xp.ones(input._array.shape, kind.numpy), kind, input._device)
