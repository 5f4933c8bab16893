"""How tensors get from one process to another: through shared memory, of which only the descriptor is sent.

Both processes then see each other's writes. Source: https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from multiprocessing.reduction import DupFd, register
from typing import Any

from minitorch.arrays.shared import SharedMemory
from minitorch.nn.parameter import Parameter
from minitorch.shared_memory import check_sendable, rebuild_tensor
from minitorch.tensor import Tensor


def _reduce_tensor(tensor: Tensor) -> Any:
    check_sendable(tensor)
    if tensor.device.type != "cpu":
        raise NotImplementedError(f"sending a tensor on device '{tensor.device}' to another process")
    memory = tensor.untyped_storage()._share()
    array = tensor._array
    pointer = tensor.device.backend.pointer
    offset = pointer(array) - pointer(tensor.device.backend.strided(memory, "uint8", 0, (1,), (1,)))
    return rebuild_tensor, (
        type(tensor), memory, array.dtype, offset, array.shape, array.strides, tensor.requires_grad,
        tensor._bits,
    )  # fmt: skip


def _attach(duplicate: Any) -> SharedMemory:
    return SharedMemory(duplicate.detach())


def _reduce_memory(memory: SharedMemory) -> Any:
    return _attach, (DupFd(memory.descriptor),)


register(Tensor, _reduce_tensor)
register(Parameter, _reduce_tensor)
register(SharedMemory, _reduce_memory)
