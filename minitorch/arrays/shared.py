"""Memory that several processes see: unnamed files, mapped by each of them.

A file without a name can't be left behind: the system frees it with the last process that has it open.
Source: https://pytorch.org/docs/stable/multiprocessing.html#file-descriptor-file-descriptor
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

from minitorch.arrays import Array


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
