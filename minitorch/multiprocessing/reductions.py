"""How tensors get from one process to another: through shared memory, of which only the descriptor is sent.

Both processes then see each other's writes. Source: https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from multiprocessing.reduction import DupFd, register
from typing import Any

from minitorch.devices import tensor_device
from minitorch.dtypes import FROM_NUMPY
from minitorch.multiprocessing.memory import SharedMemory, share
from minitorch.nn.parameter import Parameter
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
) -> Tensor:
    """A tensor on shared memory; offset and strides are in bytes."""
    where = tensor_device("cpu")
    array = where.backend.strided(memory, dtype, offset, shape, strides)
    tensor = _as_subclass(make_tensor(array, FROM_NUMPY[array.dtype], where), cls)
    tensor._requires_grad = requires_grad
    return tensor


def _reduce_tensor(tensor: Tensor) -> Any:
    check_sendable(tensor)
    if tensor.device.type != "cpu":
        raise NotImplementedError(f"sending a tensor on device '{tensor.device}' to another process")
    memory = share(tensor.untyped_storage())
    array = tensor._array
    offset = tensor.storage_offset() * array.itemsize
    return rebuild_tensor, (
        type(tensor), memory, array.dtype, offset, array.shape, array.strides, tensor.requires_grad,
    )  # fmt: skip


def _attach(duplicate: Any) -> SharedMemory:
    return SharedMemory(duplicate.detach())


def _reduce_memory(memory: SharedMemory) -> Any:
    return _attach, (DupFd(memory.descriptor),)


register(Tensor, _reduce_tensor)
register(Parameter, _reduce_tensor)
register(SharedMemory, _reduce_memory)
