"""Memory that several processes see, and tensors on it: unnamed files, mapped by each of them.

A file without a name can't be left behind: the system frees it with the last process that has it open.
Source: https://pytorch.org/docs/stable/multiprocessing.html#file-descriptor-file-descriptor
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

from minitorch.backend import Array
from minitorch.devices import cpu
from minitorch.dtypes import FROM_NUMPY
from minitorch.storage import UntypedStorage
from minitorch.tensor import Tensor, _as_subclass, make_tensor


class SharedMemory(mmap.mmap):
    """The bytes of an open file. The arrays on it keep it alive."""

    descriptor: int

    def __new__(cls, descriptor: int) -> SharedMemory:
        """Maps the whole file, and takes over its descriptor."""
        memory = super().__new__(cls, descriptor, 0)
        memory.descriptor = descriptor
        return memory

    def __del__(self) -> None:
        os.close(self.descriptor)


def allocate(nbytes: int) -> SharedMemory:
    """New shared memory, of at least one byte. Raises OSError when there is not enough."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("minitorch")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, max(nbytes, 1))
    return SharedMemory(descriptor)


def shared_memory_of(array: Array) -> SharedMemory | None:
    """The shared memory that an array lies in, if it does."""
    owner: Any = array
    while owner is not None and not isinstance(owner, SharedMemory):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner


def share(storage: UntypedStorage) -> SharedMemory:
    """Moves a storage, and with it all tensors on it, to shared memory, unless it is there already."""
    memory = shared_memory_of(storage._bytes)
    if memory is None:
        memory = allocate(storage.nbytes())
        storage._move_to(storage.device.backend.strided(memory, "uint8", 0, (storage.nbytes(),), (1,)))
    return memory


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
