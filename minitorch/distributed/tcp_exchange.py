"""Who sends what to whom in a collective: rings, trees and pairs.

Each method runs in every process of the group at the same time, on arrays without gaps.
Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005); Patarasuk,
Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.distributed.mesh import COLLECTIVE, Mesh, Receive, memory_of
from minitorch.distributed.reduce_op import RedOpType, ufunc

Array = Any

_SEGMENT = 1 << 20
"""The most bytes that travel in one message of a reduction."""


class Segments:
    """An array cut into as many chunks as there are processes, and each of these into segments, as Gloo does.

    Two segments a chunk at least: while one is on its way the other is added. The last ones may be short or empty.
    """

    def __init__(self, array: Array, size: int) -> None:
        self._array = array.reshape(-1)
        self.per_chunk = _divided(max(_divided(array.nbytes, _SEGMENT), 2 * size), size)
        self._count = self.per_chunk * size
        self._length = _divided(_divided(array.nbytes, self._count), array.itemsize)

    def __getitem__(self, number: int) -> Array:
        start = number % self._count * self._length
        return self._array[start : start + self._length]

    def like(self, number: int) -> Array:
        """Memory for another process's segment."""
        return self._array.__array_namespace__().empty_like(self[number])


def _divided(total: int, parts: int) -> int:
    """A division that rounds up."""
    return -(-total // parts)


class TCPExchange:
    """One collective: its messages have its number as their tag, so that several can be under way."""

    def __init__(self, mesh: Mesh, number: int, timeout: float) -> None:
        self._mesh = mesh
        self._key = (COLLECTIVE, number)
        self._timeout = timeout
        self.rank = mesh.rank
        self.size = mesh.size

    def _send(self, destination: int, array: Array) -> None:
        if array.size:
            self._mesh.send(destination, self._key, memory_of(array), self._timeout)

    def _post(self, source: int, array: Array) -> Receive | None:
        """Has the next message written into the array; `finish` waits for it."""
        return self._mesh.post(source, self._key, memory_of(array), exact=True) if array.size else None

    def _finish(self, receive: Receive | None) -> None:
        if receive is not None:
            receive.wait(self._timeout)

    def _receive(self, source: int, array: Array) -> None:
        self._finish(self._post(source, array))

    def _reduce_scatter(self, segments: Segments, op: RedOpType) -> None:
        """Leaves in each process the reduction of the chunk that has its rank as number; the others are in between.

        The chunks travel down the ring, and each process adds its own: chunk c is ((x[c-1] + x[c-2]) + …) + x[c].
        """
        rank, size, each = self.rank, self.size, segments.per_chunk
        combine = ufunc(segments[0], op)
        coming: list[tuple[Array, Receive | None]] = []
        for step in range((size - 1) * each + 1):
            if step < (size - 1) * each:
                theirs = segments.like((rank + 2) * each + step)
                coming.append((theirs, self._post((rank + 1) % size, theirs)))
                self._send((rank - 1) % size, segments[(rank + 1) * each + step])
            if step > 0:  # while one segment comes, the one before is added
                theirs, receive = coming.pop(0)
                self._finish(receive)
                mine = segments[(rank + 2) * each + step - 1]
                combine(theirs, mine, out=mine)

    def all_reduce(self, array: Array, op: RedOpType) -> None:
        """Leaves the reduction of all arrays in every process: the reduced chunks travel round the ring once more."""
        if self.size == 1:
            return
        segments = Segments(array, self.size)
        self._reduce_scatter(segments, op)
        rank, size, each = self.rank, self.size, segments.per_chunk
        steps = range((size - 1) * each)
        receives = [self._post((rank + 1) % size, segments[(rank + 1) * each + step]) for step in steps]
        for step in steps:
            if step >= each:
                self._finish(receives[step - each])  # what is to be sent now
            self._send((rank - 1) % size, segments[rank * each + step])
        for receive in receives[-each:]:
            self._finish(receive)

    def reduce(self, array: Array, root: int, op: RedOpType) -> None:
        """Leaves the reduction of all arrays in the root: the others send it their chunks. Their arrays are spoilt."""
        if self.size == 1:
            return
        segments = Segments(array, self.size)
        self._reduce_scatter(segments, op)
        each = segments.per_chunk
        for sender in range(self.size):
            for number in range(sender * each, (sender + 1) * each):
                if sender == self.rank != root:
                    self._send(root, segments[number])
                elif sender != self.rank == root:
                    self._receive(sender, segments[number])

    def broadcast(self, array: Array, root: int) -> None:
        """Leaves the root's array in every process: those that have it pass it on, twice as many in each round."""
        place, size = (self.rank - root) % self.size, self.size
        distance = 1
        while distance < size:
            if place < distance and place + distance < size:
                self._send((place + distance + root) % size, array)
            elif distance <= place < 2 * distance:
                self._receive((place - distance + root) % size, array)
            distance *= 2

    def all_gather(self, outputs: Sequence[Array], array: Array) -> None:
        """Leaves the array of process i in `outputs[i]` of every process: they all travel round the ring."""
        rank, size = self.rank, self.size
        outputs[rank][...] = array
        for step in range(size - 1):
            receive = self._post((rank + 1) % size, outputs[(rank + 1 + step) % size])
            self._send((rank - 1) % size, outputs[(rank + step) % size])
            self._finish(receive)

    def gather(self, outputs: Sequence[Array], array: Array, root: int) -> None:
        """Leaves the array of process i in `outputs[i]` of the root."""
        if self.rank != root:
            self._send(root, array)
            return
        outputs[root][...] = array
        receives = [self._post(i, output) for i, output in enumerate(outputs) if i != root]
        for receive in receives:
            self._finish(receive)

    def scatter(self, output: Array, arrays: Sequence[Array], root: int) -> None:
        """Leaves the root's `arrays[i]` in `output` of process i."""
        if self.rank != root:
            self._receive(root, output)
            return
        for i, array in enumerate(arrays):
            if i != root:
                self._send(i, array)
        output[...] = arrays[root]

    def all_to_all(self, outputs: Sequence[Array], arrays: Sequence[Array]) -> None:
        """Leaves `arrays[j]` of process i in `outputs[i]` of process j: in round k each sends to the k-th after it."""
        rank, size = self.rank, self.size
        outputs[rank][...] = arrays[rank]
        for distance in range(1, size):
            receive = self._post((rank - distance) % size, outputs[(rank - distance) % size])
            self._send((rank + distance) % size, arrays[(rank + distance) % size])
            self._finish(receive)

    def barrier(self) -> None:
        """Returns when all processes have come here: after round k each has heard of the 2^k before it."""
        token = memoryview(bytearray(1))
        distance = 1
        while distance < self.size:
            receive = self._mesh.post((self.rank - distance) % self.size, self._key, token, exact=True)
            self._mesh.send((self.rank + distance) % self.size, self._key, token, self._timeout)
            self._finish(receive)
            distance *= 2
