"""The backend "mpi": collectives of the MPI library, through mpi4py; `mpiexec -n 4 python script.py` starts them.

Source: https://pytorch.org/docs/stable/distributed.html#backends
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from minitorch.distributed.mesh import memory_of
from minitorch.distributed.process_group import Communicate, ProcessGroup
from minitorch.distributed.reduce_op import RedOpType, library_name
from minitorch.distributed.work import Work

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

Array = Any

_OF_TRUTH = {"SUM": "LOR", "PROD": "LAND", "MIN": "LAND", "MAX": "LOR", "BAND": "LAND", "BOR": "LOR", "BXOR": "LXOR"}
"""The operations on booleans."""


class MPIExchange:
    """MPI's collectives, on the bytes of arrays where their elements don't matter."""

    def __init__(self, communicator: MPI.Comm) -> None:
        self._communicator = communicator

    def all_reduce(self, array: Array, op: RedOpType) -> None:
        self._communicator.Allreduce(MPI.IN_PLACE, array, _operation(array, op))

    def reduce(self, array: Array, root: int, op: RedOpType) -> None:
        mine = MPI.IN_PLACE if self._communicator.rank == root else array
        self._communicator.Reduce(mine, array, _operation(array, op), root)

    def broadcast(self, array: Array, root: int) -> None:
        self._communicator.Bcast(memory_of(array), root)

    def all_gather(self, outputs: Sequence[Array], array: Array) -> None:
        received = bytearray(array.nbytes * len(outputs))
        self._communicator.Allgather(memory_of(array), received)
        _divide(received, outputs)

    def gather(self, outputs: Sequence[Array], array: Array, root: int) -> None:
        received = bytearray(array.nbytes * len(outputs)) if outputs else None
        self._communicator.Gather(memory_of(array), received, root)
        _divide(received or b"", outputs)

    def scatter(self, output: Array, arrays: Sequence[Array], root: int) -> None:
        sent = b"".join(map(memory_of, arrays)) if arrays else None
        self._communicator.Scatter(sent, memory_of(output), root)

    def all_to_all(self, outputs: Sequence[Array], arrays: Sequence[Array]) -> None:
        received = bytearray(sum(output.nbytes for output in outputs))
        sizes = [array.nbytes for array in arrays], [output.nbytes for output in outputs]
        self._communicator.Alltoallv([b"".join(map(memory_of, arrays)), sizes[0]], [received, sizes[1]])
        _divide(received, outputs)

    def barrier(self) -> None:
        self._communicator.Barrier()


def _operation(array: Array, op: RedOpType) -> MPI.Op:
    if array.dtype == "bfloat16":
        raise RuntimeError("Invalid scalar type")
    name = library_name(op)
    operation: MPI.Op = getattr(MPI, _OF_TRUTH[name] if array.dtype == bool else name)
    return operation


def _divide(data: bytes | bytearray, outputs: Sequence[Array]) -> None:
    start = 0
    for output in outputs:
        memory_of(output)[:] = data[start : start + output.nbytes]
        start += output.nbytes


class ProcessGroupMPI(ProcessGroup):
    """The processes that mpiexec has started, or those with the given ranks. Everything runs in one thread, in order.

    MPI may add in another order than Gloo. Raises RuntimeError for a reduction of bfloat16, which MPI doesn't have.
    """

    backend = "mpi"

    def __init__(self, ranks: Sequence[int] | None, timeout: timedelta) -> None:
        world = MPI.COMM_WORLD
        communicator = world.Dup() if ranks is None else world.Create(world.group.Incl(list(ranks)))
        outside = communicator == MPI.COMM_NULL
        super().__init__(-1 if outside else communicator.rank, 0 if outside else communicator.size, timeout)
        self._communicator = communicator
        self._messages = MPI.COMM_NULL if outside else communicator.Dup()

    def shutdown(self) -> None:
        super().shutdown()
        for communicator in (self._communicator, self._messages):
            if communicator != MPI.COMM_NULL:
                communicator.Free()

    def _exchange(self) -> MPIExchange:
        return MPIExchange(self._communicator)

    def _start(self, communicate: Communicate, outputs: Sequence[Tensor], async_op: bool) -> Work:
        return super()._start(communicate, outputs, async_op=True)

    def send(self, tensors: Sequence[Tensor], destination: int, tag: int) -> Work:
        """Sends a tensor to one process."""
        (tensor,) = tensors
        return MPIWork(self._messages.Isend(memory_of(tensor._elements), destination, tag), ())

    def recv(self, tensors: Sequence[Tensor], source: int | None, tag: int) -> Work:
        """Receives a tensor from one process, or with None from any."""
        (tensor,) = tensors
        place = MPI.ANY_SOURCE if source is None else source
        return MPIWork(self._messages.Irecv(memory_of(tensor._array), place, tag), tensors)


class MPIWork(Work):
    """A message that MPI sends or receives."""

    def __init__(self, request: MPI.Request, outputs: Sequence[Tensor]) -> None:
        super().__init__(outputs)
        self._request = request
        self._status = MPI.Status()

    def is_completed(self) -> bool:
        if not self._future.done() and self._request.Test(self._status):
            self._future.set_result(self._outputs)
        return self._future.done()

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        if timeout:
            raise NotImplementedError("wait: timeout, with the backend 'mpi'")
        if not self._future.done():
            self._request.Wait(self._status)
            self._future.set_result(self._outputs)
        return super().wait()

    def source_rank(self) -> int:
        self.wait()
        return int(self._status.Get_source())

    _source_rank = source_rank
