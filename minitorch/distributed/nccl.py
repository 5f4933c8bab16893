"""The backend "nccl": collectives of NVIDIA's library, from GPU to GPU, through CuPy.

It is written against CuPy's interface and has not been run on GPUs. Arrays of the CPU, which NCCL doesn't take, go
over TCP as in the backend "gloo".
Source: https://docs.cupy.dev/en/stable/reference/generated/cupy.cuda.nccl.NcclCommunicator.html
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from minitorch.arrays import gpus
from minitorch.distributed.gloo import ProcessGroupGloo
from minitorch.distributed.process_group import Exchange
from minitorch.distributed.reduce_op import RedOpType, library_name
from minitorch.distributed.store import Store
from minitorch.distributed.work import Work

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

Array = Any

_OPERATIONS = ("SUM", "PROD", "MIN", "MAX")
_OF_TRUTH = {"SUM": "MAX", "PROD": "MIN"}
"""Of booleans, which are bytes of 0 and 1."""


class NCCLExchange:
    """NCCL's collectives on arrays of one GPU. What isn't computed with travels as bytes."""

    def __init__(self, library: Any, communicator: Any, rank: int, size: int) -> None:
        self._nccl, self._communicator = library.nccl(), communicator
        self._stream = library.current_stream()
        self._rank, self._peers = rank, range(size)

    def all_reduce(self, array: Array, op: RedOpType) -> None:
        place = array.data.ptr
        self._communicator.allReduce(place, place, array.size, *self._kind(array, op), self._pointer())
        self._wait()

    def reduce(self, array: Array, root: int, op: RedOpType) -> None:
        place = array.data.ptr
        self._communicator.reduce(place, place, array.size, *self._kind(array, op), root, self._pointer())
        self._wait()

    def broadcast(self, array: Array, root: int) -> None:
        place = array.data.ptr
        self._communicator.broadcast(place, place, array.nbytes, self._nccl.NCCL_UINT8, root, self._pointer())
        self._wait()

    def all_gather(self, outputs: Sequence[Array], array: Array) -> None:
        self._pass([(peer, array) for peer in self._peers], list(enumerate(outputs)))

    def gather(self, outputs: Sequence[Array], array: Array, root: int) -> None:
        self._pass([(root, array)], list(enumerate(outputs)))

    def scatter(self, output: Array, arrays: Sequence[Array], root: int) -> None:
        self._pass(list(enumerate(arrays)), [(root, output)])

    def all_to_all(self, outputs: Sequence[Array], arrays: Sequence[Array]) -> None:
        self._pass(list(enumerate(arrays)), list(enumerate(outputs)))

    def barrier(self) -> None:
        raise NotImplementedError("a barrier needs no GPU")

    def send(self, array: Array, peer: int) -> None:
        self._pass([(peer, array)], [])

    def recv(self, array: Array, peer: int) -> None:
        self._pass([], [(peer, array)])

    def _pass(self, sent: Sequence[tuple[int, Array]], received: Sequence[tuple[int, Array]]) -> None:
        """Sends and receives arrays, at once as NCCL's groups do: alone, each would wait for the other side."""
        byte, stream = self._nccl.NCCL_UINT8, self._pointer()
        self._nccl.groupStart()
        for peer, array in sent:
            self._communicator.send(array.data.ptr, array.nbytes, byte, peer, stream)
        for peer, array in received:
            self._communicator.recv(array.data.ptr, array.nbytes, byte, peer, stream)
        self._nccl.groupEnd()
        self._wait()

    def _kind(self, array: Array, op: RedOpType) -> tuple[int, int]:
        """NCCL's numbers of the type and of the operation. Raises as PyTorch does for those that it doesn't have."""
        is_truth, operation = array.dtype == bool, library_name(op)
        if operation not in _OPERATIONS or (is_truth and op is RedOpType.AVG):
            what = "Boolean inputs" if is_truth else "NCCL"
            raise ValueError(f"Cannot use ReduceOp.{op.name} with {what}")
        name = "NCCL_UINT8" if is_truth else f"NCCL_{array.dtype.name.upper()}"
        if not hasattr(self._nccl, name):
            raise TypeError(f"Input tensor data type is not supported for NCCL process group: {array.dtype}")
        if is_truth:
            operation = _OF_TRUTH.get(operation, operation)
        return getattr(self._nccl, name), getattr(self._nccl, f"NCCL_{operation}")

    def _pointer(self) -> int:
        return 0 if self._stream is None else int(self._stream.ptr)

    def _wait(self) -> None:
        if self._stream is not None:
            self._stream.synchronize()


class _ByPlace:
    """One collective, by NCCL where its arrays are on a GPU, else over TCP."""

    def __init__(self, host: Exchange, group: ProcessGroupNCCL) -> None:
        self._host, self._group = host, group

    def __getattr__(self, name: str) -> Any:
        def run(*args: Any) -> None:
            arrays = [each for arg in args for each in (arg if isinstance(arg, (list, tuple)) else [arg])]
            on_gpu = [each for each in arrays if hasattr(each, "get")]
            if not on_gpu:
                getattr(self._host, name)(*args)
                return
            with on_gpu[0].device:
                getattr(self._group.on_gpu(), name)(*args)

        return run


class ProcessGroupNCCL(ProcessGroupGloo):
    """A group of processes that have a GPU each: the current one when its first tensor of a GPU is communicated."""

    backend = "nccl"
    reads_gpus = True

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta = timedelta(seconds=1800)) -> None:
        super().__init__(store, rank, size, timeout)
        self._meeting = store
        self._communicator: Any = None

    def on_gpu(self) -> NCCLExchange:
        """NCCL's collectives. The first call waits for the other processes, which get an identifier from process 0."""
        library: Any = gpus.library()
        if self._communicator is None:
            nccl = library.nccl()
            if self._rank == 0:
                self._meeting.set("nccl", json.dumps(nccl.get_unique_id()))
            identifier = tuple(json.loads(self._meeting.get("nccl")))
            self._communicator = nccl.NcclCommunicator(self._size, identifier, self._rank)
        return NCCLExchange(library, self._communicator, self._rank, self._size)

    def send(self, tensors: Sequence[Tensor], destination: int, tag: int) -> Work:
        """Sends a tensor to one process. NCCL knows no tags."""
        (tensor,) = tensors
        if tensor.device.type == "cpu":
            return super().send(tensors, destination, tag)

        def post(exchange: Any) -> None:
            exchange.send(self._dense(tensor), destination)

        return self._start(post, (), True)

    def recv(self, tensors: Sequence[Tensor], source: int | None, tag: int) -> Work:
        """Receives a tensor from one process. Raises RuntimeError for one of a GPU from any process."""
        (tensor,) = tensors
        if tensor.device.type == "cpu":
            return super().recv(tensors, source, tag)
        if source is None:
            raise RuntimeError("ProcessGroupNCCL does not support recvAnysource")

        def receive(exchange: Any) -> None:
            with self._writable(tensor) as (array,):
                exchange.recv(array, source)

        return self._start(receive, tensors, True)

    def _exchange(self) -> Any:
        return _ByPlace(super()._exchange(), self)
