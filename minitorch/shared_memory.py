"""Tensors on memory that several processes see, as one process sends them to another. The memory is `arrays.shared`.

Source: https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays.shared import SharedMemory
from minitorch.devices import cpu
from minitorch.dtypes import FROM_NUMPY
from minitorch.tensor import Tensor, _as_subclass, make_tensor


def check_sendable(tensor: Tensor) -> None:
    """Raises RuntimeError for a tensor with a history, which can't be sent along."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )


def rebuild_tensor(
    cls: type,
    memory: SharedMemory,
    dtype: Any,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    bits: int = 0,
) -> Tensor:
    """A tensor on shared memory; offset and strides are in bytes."""
    array = cpu.backend.strided(memory, dtype, offset, shape, strides)
    tensor = _as_subclass(make_tensor(array, FROM_NUMPY[array.dtype], cpu), cls)
    tensor._requires_grad, tensor._bits = requires_grad, bits
    return tensor
