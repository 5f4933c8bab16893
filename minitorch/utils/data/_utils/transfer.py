"""How a batch gets out of a worker process: its tensors through shared memory, everything else through the pipe.

All tensors of a message lie in one block of memory, whose descriptor follows the message. The pipes of
multiprocessing are sockets, which can carry descriptors.
"""

from __future__ import annotations

import io
import os
import pickle
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, recv_handle, send_handle
from typing import Any

from minitorch.arrays.shared import SharedMemory, allocate
from minitorch.devices import cpu
from minitorch.shared_memory import check_sendable, rebuild_tensor
from minitorch.tensor import Tensor

_ALIGNMENT = 64  # bytes: a cache line


class _Pickler(ForkingPickler):
    """Leaves tensors out: it collects them, and writes down where in a block of memory each will be."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors: dict[int, Tensor] = {}
        self.places: dict[int, tuple[Any, ...]] = {}
        self.nbytes = 0

    def persistent_id(self, value: Any) -> tuple[Any, ...] | None:
        if not isinstance(value, Tensor) or value.device != cpu:
            return None
        if id(value) not in self.places:
            check_sendable(value)
            array = value._array
            strides = cpu.xp.empty_like(array, order="K").strides  # the same order of dimensions, without gaps
            place = (type(value), array.dtype, self.nbytes, array.shape, strides, value.requires_grad)
            self.tensors[id(value)], self.places[id(value)] = value, place
            self.nbytes += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return self.places[id(value)]

    def memory(self) -> SharedMemory:
        """The block with the tensors in it."""
        block = allocate(self.nbytes)
        for number, tensor in self.tensors.items():
            _, dtype, offset, shape, strides, _ = self.places[number]
            cpu.backend.strided(block, dtype, offset, shape, strides)[...] = tensor._elements
        return block


class _Unpickler(pickle.Unpickler):
    """Puts the tensors in, which stay in the block of memory."""

    def __init__(self, file: Any, memory: SharedMemory | None) -> None:
        super().__init__(file)
        self.memory = memory

    def persistent_load(self, place: Any) -> Tensor:
        assert self.memory is not None
        kind, *geometry = place
        return rebuild_tensor(kind, self.memory, *geometry)


def send(connection: Connection, message: Any) -> None:
    """Sends an object. What can't be pickled raises before anything is sent."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(message)
    memory = pickler.memory() if pickler.tensors else None
    connection.send((memory is not None, file.getvalue()))
    if memory is not None:
        send_handle(connection, memory.descriptor, os.getppid())


def receive(connection: Connection) -> Any:
    """What `send` sent. Raises EOFError or OSError when the other end is gone."""
    has_memory, data = connection.recv()
    memory = SharedMemory(recv_handle(connection)) if has_memory else None
    return _Unpickler(io.BytesIO(data), memory).load()
