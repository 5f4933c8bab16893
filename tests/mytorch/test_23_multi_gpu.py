"""Chapter 23 of mytorch: a module on several GPUs as minitorch runs it, ranks in a ring, gradients averaged over ranks.

PyTorch runs none of it on one CPU. Beside minitorch, which its own tests compare with PyTorch over processes, expected
values are sums and means, and the counts of the ring: 2(n - 1) / n of the array leaves each of n ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import pytest

import minitorch
from tests.mytorch.compare import close, numbers, same

part = pytest.mark.part
DATA = "mytorch.nn.parallel.data_parallel:"
RING = "mytorch.distributed:"
DDP = "mytorch.nn.parallel.distributed:"


@pytest.fixture(autouse=True)
def four_gpus(mytorch: ModuleType) -> Iterator[None]:
    for library in (mytorch, minitorch):
        library.cuda.simulate(4)
    yield
    for library in (mytorch, minitorch):
        library.cuda.simulate(0)


def beside(call: Any, mytorch: ModuleType) -> None:
    """Asserts that a call shows the same of mytorch and of minitorch, on four simulated GPUs each."""
    same(call, mytorch, beside_pytorch=False)


@part("mytorch.autograd.node:ThreadMode")
def test_each_thread_has_a_mode_of_its_own(mytorch: ModuleType) -> None:
    def modes(torch: Any) -> list[bool]:
        found = []
        with torch.no_grad():
            thread = threading.Thread(target=lambda: found.append(torch.is_grad_enabled()))
            thread.start()
            thread.join()
            found.append(torch.is_grad_enabled())
        return found

    same(modes, mytorch)


@part(DATA + "scatter")
@pytest.mark.parametrize("rows", [1, 3, 8, 9, 10])
def test_scatter(mytorch: ModuleType, rows: int) -> None:
    def pieces(torch: Any) -> Any:
        return torch.nn.parallel.scatter((torch.arange(rows), torch.zeros(rows, 2), "x"), [0, 1, 2, 3])

    beside(pieces, mytorch)
    beside(lambda torch: torch.nn.parallel.scatter(torch.arange(rows), [2, 0]), mytorch)


@part(DATA + "gather")
def test_gather(mytorch: ModuleType) -> None:
    def outputs(torch: Any) -> list[Any]:
        return [
            (torch.tensor([[1.0, place]], device=f"cuda:{place}"), torch.tensor(place, device=f"cuda:{place}"))
            for place in (0, 1, 3)
        ]

    beside(lambda torch: torch.nn.parallel.gather([each[0] for each in outputs(torch)], 1), mytorch)
    with pytest.warns(UserWarning):  # minitorch warns of numbers, as PyTorch does
        beside(lambda torch: torch.nn.parallel.gather(outputs(torch), 0), mytorch)


def counting(torch: Any) -> Any:
    """A module that writes to itself in three ways."""

    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)
            self.tied = self.layer
            self.absent = torch.nn.Linear(3, 2, bias=False)
            self.register_buffer("rows", torch.zeros(1))
            self.register_buffer("nothing", None)
            self.calls, self.seen = 0, []

        def forward(self, x: Any) -> Any:
            self.calls += 1
            self.seen.append(len(x))
            self.rows += len(x)
            return self.layer(x) + self.absent(x)

    module = Counting()
    for place, each in enumerate(module.parameters()):
        with torch.no_grad():
            each.copy_(torch.tensor(numbers(*each.shape, seed=place)))
    return module.to("cuda:0")


@part(DATA + "replica", DATA + "replicate")
def test_replicas(mytorch: ModuleType) -> None:
    def about(torch: Any) -> Any:
        module = counting(torch)
        first, second = torch.nn.parallel.replicate(module, [0, 2])
        second.layer.weight.sum().backward()
        return [
            len(list(second.parameters())),
            [name for name, _ in second.named_modules()],
            [name for name, _ in second.named_buffers()],
            second.layer is second.tied,
            [str(each.device) for each in (second.layer.weight, second.rows, second.absent.weight)],
            first.rows is module.rows,
            second.absent.bias,
            second.seen is module.seen,
            second.calls,
            second.layer.weight.requires_grad,
            module.layer.weight.grad.tolist(),
        ]

    beside(about, mytorch)


@part(DATA + "DataParallel.forward", DATA + "parallel_apply", DATA + "DataParallel.__init__")
@pytest.mark.parametrize("rows", [3, 8, 9])
def test_data_parallel(mytorch: ModuleType, rows: int) -> None:
    def trained(torch: Any) -> list[Any]:
        module = counting(torch)
        divided = torch.nn.DataParallel(module)
        out = divided(torch.tensor(numbers(rows, 3)))
        (out**2).sum().backward()
        own = [each.grad for each in module.parameters()]
        found = [out.detach(), *own, module.calls, sorted(module.seen), module.rows]
        return [each.cpu() if hasattr(each, "cpu") else each for each in found]

    mine, expected = trained(mytorch), trained(minitorch)
    assert mine[-3:-1] == expected[-3:-1]
    close(mine[:4] + mine[-1:], expected[:4] + expected[-1:])
    alone = counting(mytorch).cpu()
    x = mytorch.tensor(numbers(rows, 3))
    close(mine[:1], [alone.layer(x) + alone.absent(x)])


@part(DATA + "DataParallel.__init__", DATA + "DataParallel.forward")
def test_where_everything_is(mytorch: ModuleType) -> None:
    def divided(torch: Any, **options: Any) -> Any:
        return torch.nn.DataParallel(torch.nn.Linear(3, 2).to("cuda:1"), **options)

    for options in ({"device_ids": [1, 3]}, {"device_ids": [1, 2], "output_device": 3}):
        beside(lambda torch, given=options: str(divided(torch, **given)(torch.ones(4, 3)).device), mytorch)
    beside(lambda torch: divided(torch)(torch.ones(4, 3)), mytorch)
    with mytorch.no_grad():
        assert not divided(mytorch, device_ids=[1, 2])(mytorch.ones(4, 3)).requires_grad
    for library in (mytorch, minitorch):
        library.cuda.simulate(2)
        with pytest.raises(AssertionError, match=r"^Invalid device id$"):
            library.nn.DataParallel(library.nn.Linear(3, 2), device_ids=[0, 1, 2])


@part(DATA + "parallel_apply")
def test_an_error_names_the_replica(mytorch: ModuleType) -> None:
    def message(torch: Any) -> str:
        class Failing(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                if x.device.index == 2:
                    raise ValueError("too hot")
                return x

        try:
            torch.nn.DataParallel(Failing(), device_ids=[0, 2])(torch.ones(2))
        except ValueError as error:
            return str(error).splitlines()[0]
        return "nothing was raised"

    assert "replica 1 on device 2" in message(mytorch)
    beside(message, mytorch)


def chunks_of(mytorch: ModuleType, rank: int, size: int) -> list[Any]:
    """Chunk c of rank r is [10 r + c, 10 r + c]."""
    return [mytorch.full((2,), 10.0 * rank + chunk) for chunk in range(size)]


@part(RING + "reduce_scatter_ring")
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_reduce_scatter(mytorch: ModuleType, size: int) -> None:
    def job(rank: int) -> Any:
        chunks = chunks_of(mytorch, rank, size)
        mytorch.distributed.reduce_scatter_ring(chunks)
        return chunks[rank].tolist(), mytorch.distributed.bytes_sent()

    for rank, (chunk, sent) in enumerate(mytorch.distributed.spawn(job, nprocs=size)):
        assert chunk == [sum(10.0 * each + rank for each in range(size))] * 2
        assert sent == (size - 1) * 8


@part(RING + "all_gather_ring")
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_all_gather(mytorch: ModuleType, size: int) -> None:
    def job(rank: int) -> Any:
        chunks = chunks_of(mytorch, rank, size)
        mytorch.distributed.all_gather_ring(chunks)
        return [each[0].item() for each in chunks], mytorch.distributed.bytes_sent()

    for found, sent in mytorch.distributed.spawn(job, nprocs=size):
        assert found == [11.0 * rank for rank in range(size)]
        assert sent == (size - 1) * 8


@part(
    RING + "all_reduce", RING + "bytes_sent", RING + "World", RING + "Here", RING + "get_rank", RING + "get_world_size"
)
@pytest.mark.parametrize(("size", "length"), [(1, 4), (2, 8), (3, 10), (4, 3), (4, 8)])
def test_all_reduce(mytorch: ModuleType, size: int, length: int) -> None:
    def job(rank: int) -> Any:
        assert (mytorch.distributed.get_rank(), mytorch.distributed.get_world_size()) == (rank, size)
        x = (mytorch.arange(2.0 * length) + rank).view(2, length).t()  # not contiguous
        mytorch.distributed.all_reduce(x)
        return x.tolist(), x.stride(), mytorch.distributed.bytes_sent()

    total = [[sum(row + length * column + rank for rank in range(size)) for column in (0, 1)] for row in range(length)]
    found = mytorch.distributed.spawn(job, nprocs=size)
    assert all((values, stride) == (total, (1, length)) for values, stride, _ in found)
    assert sum(sent for *_, sent in found) == 2 * (size - 1) * 2 * length * 4


@part(RING + "broadcast", RING + "send", RING + "recv", RING + "received", RING + "spawn")
def test_messages(mytorch: ModuleType) -> None:
    distributed = mytorch.distributed

    def job(rank: int, start: float) -> Any:
        x, leaf = mytorch.full((3,), start + rank), mytorch.zeros(3, requires_grad=True)
        if rank == 0:
            distributed.send(x, 2)
            x.fill_(-1)  # what was sent stays as it was
        if rank == 2:
            distributed.recv(leaf, 0)
        distributed.broadcast(x, 1)
        return leaf.tolist(), x.tolist()

    assert distributed.spawn(job, (5.0,), nprocs=3) == [
        ([0.0] * 3, [6.0] * 3),
        ([0.0] * 3, [6.0] * 3),
        ([5.0] * 3, [6.0] * 3),
    ]
    assert (distributed.get_rank(), distributed.get_world_size()) == (0, 1)


@part(RING + "received", RING + "spawn")
@pytest.mark.parametrize("fails", [False, True])
def test_nobody_waits_for_a_rank_that_has_ended(mytorch: ModuleType, fails: bool) -> None:
    def job(rank: int) -> None:
        if rank == 1:
            if fails:
                raise ValueError("rank 1 fails")
            return
        mytorch.distributed.all_reduce(mytorch.ones(4))

    error, message = (ValueError, "rank 1 fails") if fails else (RuntimeError, "closed by peer: rank 1 has ended")
    with pytest.raises(error, match=message):
        mytorch.distributed.spawn(job, nprocs=3)


@part(RING + "World.stuck", RING + "received")
def test_ranks_that_wait_for_each_other_are_told(mytorch: ModuleType) -> None:
    def job(rank: int) -> Any:
        mytorch.distributed.recv(mytorch.ones(2), (rank + 1) % 3)

    with pytest.raises(RuntimeError, match="Timed out waiting for rank"):
        mytorch.distributed.spawn(job, nprocs=3)


def network(mytorch: ModuleType, seed: int) -> Any:
    mytorch.manual_seed(seed)
    nn = mytorch.nn
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 1))


X, Y = numbers(12, 3), numbers(12, 1, seed=1)


@part(DDP + "in_buckets")
def test_buckets(mytorch: ModuleType) -> None:
    sizes = [5, 1, 1, 4, 2]
    parameters = [mytorch.nn.Parameter(mytorch.zeros(each)) for each in sizes]

    def lengths(capacity: int) -> list[list[int]]:
        found = mytorch.nn.parallel.distributed.in_buckets(parameters, capacity)
        return [[each.numel() for each in bucket] for bucket in found]

    assert lengths(1) == [[2], [4], [1], [1], [5]]
    assert lengths(8) == [[2], [4], [1, 1], [5]]
    assert lengths(24) == [[2, 4], [1, 1, 5]]
    assert lengths(1000) == [[2, 4, 1, 1, 5]]


@part(
    DDP + "DistributedDataParallel.__init__",
    DDP + "DistributedDataParallel.forward",
    DDP + "DistributedDataParallel.on_gradient",
    DDP + "average_gradients",
)
@pytest.mark.parametrize("capacity", [1e-6, 25])
def test_ranks_train_as_one_device_would(mytorch: ModuleType, capacity: float) -> None:
    """In evaluation mode, since batch norm looks at a rank's own rows."""
    x, y = mytorch.tensor(X), mytorch.tensor(Y)
    models = [network(mytorch, seed).eval() for seed in range(4)]
    alone = network(mytorch, 0).eval()

    def job(rank: int) -> Any:
        divided = mytorch.nn.parallel.DistributedDataParallel(models[rank], bucket_cap_mb=capacity)
        return train(divided, x[rank::4], y[rank::4]), len(divided.buckets)

    def train(model: Any, x: Any, y: Any) -> list[Any]:
        optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
        return [*model.parameters(), *(each.grad for each in model.parameters())]

    expected = train(alone, x, y)
    for found, buckets in mytorch.distributed.spawn(job, nprocs=4):
        close(found, expected)
        assert buckets == (6 if capacity < 1 else 1)
    assert [name for name, _ in models[0].named_parameters()] == [name for name, _ in alone.named_parameters()]


@part(DDP + "DistributedDataParallel.no_sync", DDP + "DistributedDataParallel.on_gradient")
def test_no_sync_adds_up(mytorch: ModuleType) -> None:
    x, models = mytorch.tensor(X), [mytorch.nn.Linear(3, 1) for _ in range(2)]

    def job(rank: int) -> Any:
        divided = mytorch.nn.parallel.DistributedDataParallel(models[rank])
        before = mytorch.distributed.bytes_sent()
        with divided.no_sync():
            divided(x[rank : rank + 3]).sum().backward()
            local = divided.module.weight.grad.clone()
            sent = mytorch.distributed.bytes_sent() - before
        divided(x[rank + 6 : rank + 9]).sum().backward()
        return local, sent, divided.module.weight.grad

    (one, sent, total), (other, _, same_total) = mytorch.distributed.spawn(job, nprocs=2)
    close([one, other], [X[:3].sum(0, keepdims=True), X[1:4].sum(0, keepdims=True)])
    assert sent == 0
    both = (X[:3].sum(0) + X[6:9].sum(0) + X[1:4].sum(0) + X[7:10].sum(0)) / 2
    close([total, same_total], [both[None], both[None]])


@part(
    DDP + "DistributedDataParallel.__init__",
    DDP + "DistributedDataParallel.forward",
    DDP + "DistributedDataParallel.on_gradient",
)
@pytest.mark.parametrize("forward_inside", [True, False])
def test_no_sync_counts_in_the_forward_pass(mytorch: ModuleType, forward_inside: bool) -> None:
    def job(rank: int) -> Any:
        divided = mytorch.nn.parallel.DistributedDataParallel(mytorch.nn.Linear(1, 1, bias=False))
        with divided.no_sync() if forward_inside else nullcontext():
            loss = divided(mytorch.full((1, 1), 1.0 + rank)).sum()
        with nullcontext() if forward_inside else divided.no_sync():
            loss.backward()
        return divided.module.weight.grad.item()

    assert mytorch.distributed.spawn(job, nprocs=2) == ([1.0, 2.0] if forward_inside else [1.5, 1.5])


@part(DDP + "DistributedDataParallel.forward")
def test_buffers_are_those_of_rank_0(mytorch: ModuleType) -> None:
    x, models = mytorch.tensor(X), [network(mytorch, 0) for _ in range(2)]

    def job(rank: int) -> Any:
        divided = mytorch.nn.parallel.DistributedDataParallel(models[rank])
        divided(x[rank::2]).sum().backward()
        own = models[rank][1].running_mean.clone()
        divided(x[rank::2]).sum().backward()
        with divided.no_sync():
            divided(x[rank::2])
        return own.tolist(), models[rank][1].num_batches_tracked.item()

    (one, count), (other, _) = mytorch.distributed.spawn(job, nprocs=2)
    assert one != other and count == 3


@part(DDP + "DistributedDataParallel.forward")
def test_an_unused_parameter_is_noticed_in_the_next_pass(mytorch: ModuleType) -> None:
    def job(rank: int) -> None:
        layers = mytorch.nn.ModuleList([mytorch.nn.Linear(3, 1), mytorch.nn.Linear(3, 1)])
        layers.forward = lambda x: layers[0](x)
        divided = mytorch.nn.parallel.DistributedDataParallel(layers)
        for _ in range(2):
            divided(mytorch.ones(1, 3)).sum().backward()

    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration"):
        mytorch.distributed.spawn(job, nprocs=2)
