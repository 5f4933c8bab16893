"""A group of processes that communicate.

How the elements travel is an `Exchange`, which each backend has its own of, on arrays without gaps. Here is what they
share: the checks, in Gloo's words; that a communication runs at once or in a thread of its own; and that tensors may
lie in memory as they like.
Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.ProcessGroup
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from minitorch.distributed.reduce_op import RedOpType, check_element_type, check_reduction
from minitorch.distributed.work import Work

if TYPE_CHECKING:
    from minitorch.distributed.store import Store
    from minitorch.tensor import Tensor

Array = Any


class Exchange(Protocol):
    """One collective of a backend; each method runs in all processes."""

    def all_reduce(self, array: Array, op: RedOpType) -> None: ...
    def reduce(self, array: Array, root: int, op: RedOpType) -> None: ...
    def broadcast(self, array: Array, root: int) -> None: ...
    def all_gather(self, outputs: Sequence[Array], array: Array) -> None: ...
    def gather(self, outputs: Sequence[Array], array: Array, root: int) -> None: ...
    def scatter(self, output: Array, arrays: Sequence[Array], root: int) -> None: ...
    def all_to_all(self, outputs: Sequence[Array], arrays: Sequence[Array]) -> None: ...
    def barrier(self) -> None: ...


Communicate = Callable[[Exchange], None]


class ProcessGroup:
    """Process `rank` of `size`, and its connections to the others.

    Each collective has to be called by all processes, in the same order; with `async_op` it returns before it has
    ended. `ranks` are the processes' numbers among all that there are.
    """

    backend = ""
    """The name of the backend."""
    reads_gpus = False
    """Whether its `Exchange` takes arrays of GPUs; if not, they pass through host memory."""

    def __init__(self, rank: int, size: int, timeout: timedelta) -> None:
        self._rank = rank
        self._size = size
        self.timeout = timeout
        self.group_name = ""
        self.group_desc = "undefined"
        self.bound_device_id: Any = None
        self.ranks: tuple[int, ...] = tuple(range(size))
        self.store: Store | None = None
        self.config = ""
        self.asked_backend = ""
        self._queue: queue.SimpleQueue[tuple[Work, Communicate, Exchange] | None] | None = None

    def rank(self) -> int:
        """This process's number in the group."""
        return self._rank

    def size(self) -> int:
        """The number of processes in the group."""
        return self._size

    def name(self) -> str:
        """The name of the backend."""
        return self.backend

    def shutdown(self) -> None:
        """Ends the group: closes its connections and ends its threads."""
        if self._queue is not None:
            self._queue.put(None)

    def allreduce(self, tensors: Sequence[Tensor], op: Any = RedOpType.SUM, async_op: bool = True) -> Work:
        """Reduces each tensor over all processes, in place."""
        for tensor in tensors:
            check_reduction(op, tensor._array.dtype.name)

        def communicate(exchange: Exchange) -> None:
            for tensor in tensors:
                with self._writable(tensor) as (array,):
                    exchange.all_reduce(array, op)
                self._average(tensor, op)

        return self._start(communicate, tensors, async_op)

    def reduce(self, tensors: Sequence[Tensor], root: int, op: Any = RedOpType.SUM, async_op: bool = True) -> Work:
        """Reduces a tensor over all processes, into the root's."""
        self._check_root("reduce", root)
        (tensor,) = tensors
        check_reduction(op, tensor._array.dtype.name)

        def communicate(exchange: Exchange) -> None:
            if self._rank != root:
                exchange.reduce(self._copy(tensor), root, op)
                return
            with self._writable(tensor) as (array,):
                exchange.reduce(array, root, op)
            self._average(tensor, op)

        return self._start(communicate, tensors, async_op)

    def broadcast(self, tensors: Sequence[Tensor], root: int, async_op: bool = True) -> Work:
        """Copies the root's tensors into those of the others."""
        self._check_root("broadcast", root)
        for tensor in tensors:
            check_element_type(tensor._array.dtype.name)

        def communicate(exchange: Exchange) -> None:
            for tensor in tensors:
                with self._writable(tensor) as (array,):
                    exchange.broadcast(array, root)

        return self._start(communicate, tensors, async_op)

    def allgather(self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], async_op: bool = True) -> Work:
        """Copies the tensors of process i into `outputs[…][i]` of all."""
        for each, tensor in zip(outputs, inputs, strict=True):
            if len(each) != self._size:
                raise RuntimeError(
                    "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
                    f"{self._size}, got {len(each)})"
                )
            _check_alike("allgather", each, tensor)
            check_element_type(tensor._array.dtype.name)

        def communicate(exchange: Exchange) -> None:
            for each, tensor in zip(outputs, inputs, strict=True):
                with self._writable(*each) as arrays:
                    exchange.all_gather(arrays, self._dense(tensor))

        return self._start(communicate, [tensor for each in outputs for tensor in each], async_op)

    def gather(
        self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor], root: int, async_op: bool = True
    ) -> Work:
        """Copies the tensor of process i into `outputs[0][i]` of the root; elsewhere `outputs` is empty."""
        self._check_root("gather", root)
        (tensor,) = inputs
        check_element_type(tensor._array.dtype.name)
        into = list(outputs[0]) if outputs else []
        if self._rank == root:
            self._check_count("gather", "output", into)
            _check_alike("gather", into, tensor)

        def communicate(exchange: Exchange) -> None:
            with self._writable(*into) as arrays:
                exchange.gather(arrays, self._dense(tensor), root)

        return self._start(communicate, into, async_op)

    def scatter(
        self, outputs: Sequence[Tensor], inputs: Sequence[Sequence[Tensor]], root: int, async_op: bool = True
    ) -> Work:
        """Copies `inputs[0][i]` of the root into the tensor of process i; elsewhere `inputs` is empty."""
        self._check_root("scatter", root)
        (tensor,) = outputs
        check_element_type(tensor._array.dtype.name)
        parts = list(inputs[0]) if inputs else []
        if self._rank == root:
            self._check_count("scatter", "input", parts)
            _check_alike("scatter", parts, tensor)

        def communicate(exchange: Exchange) -> None:
            with self._writable(tensor) as (array,):
                exchange.scatter(array, [self._dense(part) for part in parts], root)

        return self._start(communicate, outputs, async_op)

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], async_op: bool = True) -> Work:
        """Copies `inputs[j]` of process i into `outputs[i]` of process j."""
        if len(outputs) != self._size or len(inputs) != self._size:
            raise RuntimeError("Number of tensor splits not equal to group size")
        for tensor in outputs:
            check_element_type(tensor._array.dtype.name)

        def communicate(exchange: Exchange) -> None:
            with self._writable(*outputs) as arrays:
                exchange.all_to_all(arrays, [self._dense(tensor) for tensor in inputs])

        return self._start(communicate, outputs, async_op)

    def reduce_scatter(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Sequence[Tensor]],
        op: Any = RedOpType.SUM,
        async_op: bool = True,
    ) -> Work:
        """Reduces `inputs[0][i]` over all processes, into the tensor of process i."""
        (output,), (parts,) = outputs, inputs
        self._check_count("reduce_scatter", "input", parts)
        check_reduction(op, output._array.dtype.name)
        for part in parts:
            if part.shape != output.shape:
                raise RuntimeError(f"reduce_scatter: an input has the size {part.shape}, the output {output.shape}")

        def communicate(exchange: Exchange) -> None:
            for root, part in enumerate(parts):
                array = self._copy(part)
                exchange.reduce(array, root, op)
                if root == self._rank:
                    self._put(output, array)
            self._average(output, op)

        return self._start(communicate, outputs, async_op)

    def reduce_scatter_single(
        self, output: Tensor, input: Tensor, op: Any = RedOpType.SUM, async_op: bool = True
    ) -> Work:
        """Reduces `input` over all processes; its i-th part, along the first dimension, is for process i."""
        if output.shape[0] * self._size != input.shape[0]:
            raise RuntimeError(f"reduce_scatter: {input.shape[0]} rows are no {self._size} times {output.shape[0]}")
        check_reduction(op, input._array.dtype.name)

        def communicate(exchange: Exchange) -> None:
            array = self._copy(input)
            exchange.all_reduce(array, op)
            self._put(output, array[self._rank * output.shape[0] :][: output.shape[0]])
            self._average(output, op)

        return self._start(communicate, [output], async_op)

    def barrier(self, async_op: bool = True) -> Work:
        """Ends when all processes have called it."""
        return self._start(lambda exchange: exchange.barrier(), (), async_op)

    def send(self, tensors: Sequence[Tensor], destination: int, tag: int) -> Work:
        """Sends a tensor to one process."""
        raise NotImplementedError(f"{type(self).__name__}: send")

    def recv(self, tensors: Sequence[Tensor], source: int | None, tag: int) -> Work:
        """Receives a tensor from one process, or with None from any."""
        raise NotImplementedError(f"{type(self).__name__}: recv")

    def recv_anysource(self, tensors: Sequence[Tensor], tag: int) -> Work:
        """Receives a tensor from whoever sends one first."""
        return self.recv(tensors, None, tag)

    def _exchange(self) -> Exchange:
        """What carries the next collective."""
        raise NotImplementedError(f"{type(self).__name__}: collectives")

    def _start(self, communicate: Communicate, outputs: Sequence[Tensor], async_op: bool) -> Work:
        work, exchange = Work(outputs), self._exchange()
        if not async_op:
            return work.run(functools.partial(communicate, exchange))
        if self._queue is None:
            self._queue = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._queue,), name=f"group {self.group_name}", daemon=True).start()
        self._queue.put((work, communicate, exchange))
        return work

    def _dense(self, tensor: Tensor) -> Array:
        """A tensor's elements without gaps, where the exchange can read them: its own array, or a copy."""
        array = tensor._elements if self.reads_gpus else tensor.device.backend.to_host(tensor._elements)
        with tensor.device.active():
            return array if array.flags.c_contiguous else array.copy("C")

    def _copy(self, tensor: Tensor) -> Array:
        """The same, always as a copy."""
        array = self._dense(tensor)
        with tensor.device.active():
            return array.copy("C")

    def _put(self, tensor: Tensor, array: Array) -> None:
        """Overwrites a tensor with what an exchange has written."""
        moved = tensor.device.type != "cpu" and not self.reads_gpus
        tensor._put(tensor.device.backend.from_host(array) if moved else array)

    @contextlib.contextmanager
    def _writable(self, *tensors: Tensor) -> Iterator[list[Array]]:
        """Arrays without gaps, for a while; what is in them then is in the tensors afterwards."""
        arrays = [self._dense(tensor) for tensor in tensors]
        yield arrays
        for tensor, array in zip(tensors, arrays, strict=True):
            if array is not tensor._array:
                self._put(tensor, array)

    def _average(self, tensor: Tensor, op: Any) -> None:
        if op is RedOpType.AVG:
            tensor.detach().div_(self._size)

    def _check_root(self, name: str, root: int) -> None:
        if not 0 <= root < self._size:
            raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")

    def _check_count(self, name: str, side: str, tensors: Sequence[Tensor]) -> None:
        if len(tensors) != self._size:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: Incorrect {side} list size {len(tensors)}. {side.capitalize()} list size "
                f"should be {self._size}, same as size of the process group."
            )


def _work(waiting: queue.SimpleQueue[tuple[Work, Communicate, Exchange] | None]) -> None:
    """Runs the communications that are put into a queue, one after the other, until None is."""
    while (task := waiting.get()) is not None:
        work, communicate, exchange = task
        work.run(functools.partial(communicate, exchange))
        del task, work, communicate, exchange  # or the tensors would live on until the next comes


def _check_alike(name: str, tensors: Sequence[Tensor], model: Tensor) -> None:
    for index, tensor in enumerate(tensors):
        for what, expected, got in (("type", model.dtype, tensor.dtype), ("size", model.shape, tensor.shape)):
            if expected != got:
                raise RuntimeError(
                    f"ProcessGroupGloo::{name}: invalid tensor {what} at index {index} (expected {expected}, got {got})"
                )
