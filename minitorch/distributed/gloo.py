"""The backend "gloo": collectives on CPUs over TCP, with Python's standard library alone.

It computes what PyTorch's Gloo backend computes, in the same order, so that sums have the same bits.
Source: https://pytorch.org/docs/stable/distributed.html#backends
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from minitorch.distributed.mesh import MONITOR, POINT_TO_POINT, Mesh, memory_of
from minitorch.distributed.process_group import ProcessGroup
from minitorch.distributed.store import Store
from minitorch.distributed.tcp_exchange import TCPExchange
from minitorch.distributed.work import ReceiveWork, Work

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class ProcessGroupGloo(ProcessGroup):
    """A group whose processes are connected by TCP; they find each other through the store.

    Raises RuntimeError where the others don't come in time, and from each communication with a process that has ended
    or that doesn't answer in time.
    """

    backend = "gloo"

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta = timedelta(seconds=1800)) -> None:
        super().__init__(rank, size, timeout)
        self._mesh = Mesh(store, rank, size, timeout.total_seconds())
        self._numbers = itertools.count()

    def shutdown(self) -> None:
        super().shutdown()
        self._mesh.close()

    def _exchange(self) -> TCPExchange:
        return TCPExchange(self._mesh, next(self._numbers), self.timeout.total_seconds())

    def send(self, tensors: Sequence[Tensor], destination: int, tag: int) -> Work:
        """Sends a tensor to one process. When this returns it is on its way, asked for or not."""
        tensor = _single("send", tensors)
        key = (POINT_TO_POINT, tag)
        seconds = self.timeout.total_seconds()
        return Work(()).run(lambda: self._mesh.send(destination, key, memory_of(tensor._elements), seconds))

    def recv(self, tensors: Sequence[Tensor], source: int | None, tag: int) -> Work:
        """Receives a tensor from one process, or with None from any; a shorter one fills its beginning."""
        tensor = _single("recv", tensors)
        receive = self._mesh.post(source, (POINT_TO_POINT, tag), memory_of(tensor._array), exact=False)
        return ReceiveWork(receive, tensors, self.timeout.total_seconds())

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """A barrier after which rank 0 knows who didn't come: RuntimeError names the first, or all."""
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        failed = f"failed to pass monitoredBarrier in {round(seconds * 1000)} ms"
        key, token = (MONITOR, 0), memoryview(bytearray(1))
        if self._rank != 0:
            self._mesh.send(0, key, token, seconds)
            try:
                self._mesh.post(0, key, token, exact=True).wait(seconds)
            except RuntimeError as error:
                raise RuntimeError(f"[Rank {self._rank}]: Rank 0 {failed}\n Original exception: \n{error}") from error
            return
        missing = []
        for rank in range(1, self._size):
            try:
                self._mesh.post(rank, key, token, exact=True).wait(seconds)
            except RuntimeError as error:
                missing.append(rank)
                if not wait_all_ranks:
                    raise RuntimeError(f"[Rank 0]: Rank {rank} {failed}\n Original exception: \n{error}") from error
        if missing:
            raise RuntimeError(f"[Rank 0]: Ranks {', '.join(map(str, missing))} {failed}")
        for rank in range(1, self._size):
            self._mesh.send(rank, key, token, seconds)


def _single(name: str, tensors: Sequence[Tensor]) -> Tensor:
    (tensor,) = tensors
    if tensor.device.type != "cpu":
        raise RuntimeError(f"ProcessGroupGloo::{name}: unsupported device type {tensor.device.type}")
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")
    return tensor
