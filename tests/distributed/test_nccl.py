"""The backend "nccl" without NVIDIA's library: what it asks of CuPy's interface, answered here by threads."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import distributed as dist
from minitorch.arrays import gpus
from minitorch.distributed.nccl import ProcessGroupNCCL
from minitorch.distributed.reduce_op import RedOpType

SIZE = 3


class FakeNCCL:
    """The parts of `cupy.cuda.nccl` that are used, for threads in one process. It has fewer types than NCCL."""

    NCCL_UINT8, NCCL_INT64, NCCL_FLOAT32 = "uint8", "int64", "float32"
    NCCL_SUM, NCCL_PROD, NCCL_MIN, NCCL_MAX = np.add, np.multiply, np.minimum, np.maximum

    def __init__(self) -> None:
        self.barrier = threading.Barrier(SIZE, timeout=30)
        self.posted: dict[Any, Any] = {}
        self.local = threading.local()

    def get_unique_id(self) -> tuple[int, ...]:
        return tuple(range(-64, 64))

    def NcclCommunicator(self, size: int, identifier: Any, rank: int) -> FakeCommunicator:
        assert (size, identifier) == (SIZE, self.get_unique_id())
        return FakeCommunicator(self, rank)

    def groupStart(self) -> None:
        self.local.receives = []

    def groupEnd(self) -> None:
        self.barrier.wait()
        for place, key in self.local.receives:
            place[:] = self.posted.pop(key)
        self.barrier.wait()


class FakeCommunicator:
    def __init__(self, nccl: FakeNCCL, rank: int) -> None:
        self.nccl, self.rank = nccl, rank

    def _together(self, mine: Any) -> list[Any]:
        self.nccl.posted[self.rank] = mine.copy()
        self.nccl.barrier.wait()
        found = [self.nccl.posted[rank] for rank in range(SIZE)]
        self.nccl.barrier.wait()
        return found

    def allReduce(self, source: int, target: int, count: int, kind: str, operation: Any, stream: int) -> None:
        at(target, count, kind)[:] = operation.reduce(self._together(at(source, count, kind)))

    def reduce(self, source: int, target: int, count: int, kind: str, operation: Any, root: int, stream: int) -> None:
        result = operation.reduce(self._together(at(source, count, kind)))
        if self.rank == root:
            at(target, count, kind)[:] = result

    def broadcast(self, source: int, target: int, count: int, kind: str, root: int, stream: int) -> None:
        at(target, count, kind)[:] = self._together(at(source, count, kind))[root]

    def send(self, source: int, count: int, kind: str, peer: int, stream: int) -> None:
        self.nccl.posted[self.rank, peer] = at(source, count, kind).copy()

    def recv(self, target: int, count: int, kind: str, peer: int, stream: int) -> None:
        self.nccl.local.receives.append((at(target, count, kind), (peer, self.rank)))


def at(place: int, count: int, kind: str) -> Any:
    """The elements at an address."""
    size = count * np.dtype(kind).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(place), kind)


@pytest.fixture
def in_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[Any, int], Any]], list[Any]]]:
    """Runs a function of a group and a rank in a thread for each rank."""
    torch.cuda.simulate(SIZE)
    fake = FakeNCCL()
    monkeypatch.setattr(gpus.library(), "nccl", lambda: fake)

    def run(function: Callable[[Any, int], Any]) -> list[Any]:
        store, results = dist.HashStore(), [None] * SIZE

        def one(rank: int) -> None:
            group = ProcessGroupNCCL(store, rank, SIZE, timedelta(seconds=30))
            results[rank] = function(group, rank)
            group.shutdown()

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(SIZE)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return results

    yield run
    torch.cuda.simulate(0)


def test_every_collective(in_groups: Callable[..., list[Any]]) -> None:
    def collectives(group: Any, rank: int) -> list[Any]:
        device = torch.device("cuda", rank)
        x = torch.arange(6.0, device=device).reshape(2, 3).t() + rank  # with gaps
        group.allreduce([x]).wait()
        mean = torch.tensor([float(rank)], device=device)
        group.allreduce([mean], RedOpType.AVG).wait()
        truth = torch.tensor([rank == 1, False], device=device)
        group.allreduce([truth]).wait()
        most = torch.tensor([rank, -rank], device=device)
        group.reduce([most], 2, RedOpType.MAX).wait()
        half = torch.full((2,), rank, dtype=torch.float16, device=device)
        group.broadcast([half], 1).wait()
        gathered = [torch.zeros(2, device=device) for _ in range(SIZE)]
        group.allgather([gathered], [torch.full((2,), rank + 0.5, device=device)]).wait()
        group.gather([gathered] if rank == 0 else [], [torch.full((2,), -rank, device=device).float()], 0).wait()
        part = torch.zeros(2, device=device)
        group.scatter(
            [part], [[torch.full((2,), float(i), device=device) for i in range(SIZE)]] if rank == 1 else [], 1
        ).wait()
        swapped = [torch.zeros(1, device=device) for _ in range(SIZE)]
        group.alltoall(swapped, [torch.tensor([10.0 * rank + i], device=device) for i in range(SIZE)]).wait()
        count = torch.tensor([rank])  # on the CPU
        group.allreduce([count]).wait()
        group.barrier().wait()
        assert all(each.device == device for each in (x, mean, truth, most, half, *gathered, part, *swapped))
        return [each.tolist() for each in (x, mean, truth, most, half, *gathered, part, *swapped, count)]

    for rank, (x, mean, truth, most, half, a, b, c, part, *rest) in enumerate(in_groups(collectives)):
        assert x == [[3, 12], [6, 15], [9, 18]]
        assert (mean, truth, half) == ([1], [True, False], [1, 1])
        assert most == ([2, 0] if rank == 2 else [rank, -rank])
        assert [a, b, c] == ([[0, 0], [-1, -1], [-2, -2]] if rank == 0 else [[0.5] * 2, [1.5] * 2, [2.5] * 2])
        assert part == [rank] * 2
        assert rest == [[rank], [10 + rank], [20 + rank], [3]]


def test_messages_go_round(in_groups: Callable[..., list[Any]]) -> None:
    def passed(group: Any, rank: int) -> Any:
        device = torch.device("cuda", rank)
        mine, x = torch.tensor([1.0, rank], device=device), torch.zeros(2, device=device)
        sent = group.send([mine], (rank + 1) % SIZE, 7)
        group.recv([x], (rank - 1) % SIZE, 7).wait()
        sent.wait()
        return x.tolist()

    assert in_groups(passed) == [[1, 2], [1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("kind", "op", "error", "words"),
    [
        ("int64", RedOpType.BAND, ValueError, "Cannot use ReduceOp.BAND with NCCL"),
        ("bool", RedOpType.AVG, ValueError, "Cannot use ReduceOp.AVG with Boolean inputs"),
        (
            "float64",
            RedOpType.SUM,
            TypeError,
            "Input tensor data type is not supported for NCCL process group: float64",
        ),
    ],
)
def test_what_nccl_cannot_reduce(
    in_groups: Callable[..., list[Any]], kind: str, op: RedOpType, error: type[Exception], words: str
) -> None:
    def reduced(group: Any, rank: int) -> Any:
        x = torch.zeros(2, dtype=getattr(torch, kind), device=torch.device("cuda", rank))
        try:
            group.allreduce([x], op, async_op=False).wait()
        except error as raised:
            return str(raised)

    assert in_groups(reduced) == [words] * SIZE


def test_without_nvidias_library_there_is_none() -> None:
    assert not dist.is_nccl_available()
    with pytest.raises(RuntimeError, match="Distributed package doesn't have NCCL built in"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
