"""Chapter 23b of mytorch: an optimizer's state and parameters in shards, and linear layers divided among ranks.

Expected values are those of one device, on minitorch and PyTorch, and the counts of the ring. PyTorch's
`fully_shard` and `ZeroRedundancyOptimizer` need processes; what they share with these is one device's training.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.mytorch.compare import agree, close, numbers

part = pytest.mark.part
RING = "mytorch.distributed:"
SHARDS = "mytorch.nn.parallel.sharding:"

X, Y = numbers(12, 3), numbers(12, 2, seed=1)
STEPS = 4


def a_model(torch: Any, dtype: Any = None) -> Any:
    """The same network in every library."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    for place, each in enumerate(model.parameters()):
        each.data = torch.tensor(numbers(*each.shape, seed=place))
    return model.to(dtype) if dtype else model


def train(torch: Any, model: Any, step: Callable[[], Any], x: Any, y: Any, parts: int = 1) -> list[Any]:
    """The loss of each step; `parts` micro-batches a step."""
    losses = []
    for _ in range(STEPS):
        model.zero_grad()
        total = 0.0
        for rows, aims in zip(x.split(len(x) // parts), y.split(len(y) // parts), strict=True):
            loss = ((model(rows) - aims) ** 2).mean() / parts
            loss.backward()
            total += loss.item()
        step()
        losses.append(total)
    return losses


def alone(torch: Any, make: Callable[[Any, Any], Any]) -> list[Any]:
    """Losses and weights of one device."""
    model = a_model(torch)
    losses = train(torch, model, make(torch, model.parameters()).step, torch.tensor(X), torch.tensor(Y))
    return [*losses, *model.parameters()]


def adam(torch: Any, parameters: Any) -> Any:
    return torch.optim.Adam(parameters, lr=0.1)


@part(SHARDS + "in_shards")
@pytest.mark.parametrize(("length", "size", "lengths"), [(8, 2, [4, 4]), (10, 4, [3, 3, 2, 2]), (2, 3, [1, 1, 0])])
def test_shards_are_even_views(mytorch: ModuleType, length: int, size: int, lengths: list[int]) -> None:
    def job(rank: int) -> Any:
        whole = mytorch.zeros(length, 1, requires_grad=True)
        shards = mytorch.nn.parallel.sharding.in_shards(whole)
        with mytorch.no_grad():
            shards[rank].fill_(1.0 + rank)
        return [each.numel() for each in shards], shards[0].requires_grad, whole.view(-1).tolist()

    for rank, found in enumerate(mytorch.distributed.spawn(job, nprocs=size)):
        written = [1.0 + rank if each == rank else 0.0 for each in range(size) for _ in range(lengths[each])]
        assert found == (lengths, False, written)


@part(SHARDS + "mean_of_shard", SHARDS + "gather_shards")
def test_both_directions(mytorch: ModuleType) -> None:
    """The two together send what an all-reduce sends, 2 (n - 1) / n of the array, and give the mean."""
    values = numbers(3, 2, 6)

    def job(rank: int) -> Any:
        gradient = mytorch.tensor(values[rank]).t()  # not contiguous
        shard = mytorch.nn.parallel.sharding.mean_of_shard(gradient)
        half = mytorch.distributed.bytes_sent()
        whole = mytorch.zeros(6, 2, dtype=mytorch.float64, requires_grad=True)
        mytorch.nn.parallel.sharding.gather_shards(shard, whole)
        assert gradient.tolist() == values[rank].T.tolist() and whole.is_leaf
        return whole, len(shard.storage), half

    for whole, length, half in mytorch.distributed.spawn(job, nprocs=3):
        close([whole], [values.mean(0).T.astype("float64")])
        assert (length, half) == (4, 2 * 4 * 4)


@part(SHARDS + "ZeroRedundancyOptimizer.__init__", SHARDS + "ZeroRedundancyOptimizer.step")
def test_zero_trains_as_one_device_does(mytorch: ModuleType) -> None:
    models = [a_model(mytorch) for _ in range(4)]

    def job(rank: int) -> Any:
        model = models[rank]
        optimizer = mytorch.nn.parallel.ZeroRedundancyOptimizer(model.parameters(), mytorch.optim.Adam, lr=0.1)
        losses = train(mytorch, model, optimizer.step, mytorch.tensor(X[rank::4]), mytorch.tensor(Y[rank::4]))
        assert [each.grad for each in optimizer.shards] == [None] * 4
        return losses, sum(each["exp_avg"].numel() for each in optimizer.optim.state.values())

    def trained(torch: Any) -> list[Any]:
        if torch is not mytorch:
            return alone(torch, adam)
        losses, kept = zip(*mytorch.distributed.spawn(job, nprocs=4), strict=True)
        assert sum(kept) == 15 + 5 + 10 + 2
        assert max(kept) - min(kept) <= 4  # one for each parameter
        for model in models[1:]:
            close(list(model.parameters()), list(models[0].parameters()))
        return [*(sum(each) / 4 for each in zip(*losses, strict=True)), *models[0].parameters()]

    agree(trained, mytorch)


@part(SHARDS + "ZeroRedundancyOptimizer.__init__", SHARDS + "ZeroRedundancyOptimizer.step")
def test_shards_are_master_weights(mytorch: ModuleType) -> None:
    """A hundred steps of 0.001 from 1: each alone is lost in bfloat16, together they lead to 0.9."""

    def job(rank: int) -> Any:
        weight = mytorch.ones(3, dtype=mytorch.bfloat16, requires_grad=True)
        optimizer = mytorch.nn.parallel.ZeroRedundancyOptimizer([weight], mytorch.optim.SGD, lr=0.001)
        for _ in range(100):
            weight.grad = mytorch.ones(3, dtype=mytorch.bfloat16)
            optimizer.step()
        return weight.float(), optimizer.shards[0].dtype is mytorch.float32

    for weight, single in mytorch.distributed.spawn(job, nprocs=2):
        close([weight], [[0.9] * 3], atol=0.002)
        assert single


def sharded(mytorch: ModuleType, model: Any, layers: bool) -> Any:
    """A model of which each rank keeps shards: each layer by itself, or all at once."""
    for layer in model if layers else ():
        mytorch.nn.parallel.fully_shard(layer)
    return mytorch.nn.parallel.fully_shard(model)


FSDP = [f"FSDPParam.{name}" for name in ("__init__", "unshard", "reshard", "reduce_grad")]


@part(*(SHARDS + name for name in [*FSDP, "fully_shard", "Shard"]))
@pytest.mark.parametrize(("layers", "parts"), [(False, 1), (True, 1), (True, 3)])
def test_shards_train_as_one_device_does(mytorch: ModuleType, layers: bool, parts: int) -> None:
    models = [a_model(mytorch) for _ in range(2)]

    def job(rank: int) -> Any:
        model = sharded(mytorch, models[rank], layers)
        optimizer = adam(mytorch, model.parameters())
        x, y = mytorch.tensor(X[rank::2]), mytorch.tensor(Y[rank::2])
        losses = train(mytorch, model, optimizer.step, x, y, parts)
        assert [tuple(each.shape) for each in model.parameters()] == [(8 - rank,), (3 - rank,), (5,), (1,)]
        assert all(each.grad.shape == each.shape for each in model.parameters())
        # Gathered twice and reduced once for each micro-batch: half of an array that two ranks share, each time.
        assert mytorch.distributed.bytes_sent() <= STEPS * parts * 3 * 4 * (8 + 3 + 5 + 1)
        return losses, [each.detach().clone() for each in model.parameters()]

    def trained(torch: Any) -> list[Any]:
        if torch is not mytorch:
            return alone(torch, adam)
        (one, first), (other, second) = mytorch.distributed.spawn(job, nprocs=2)
        weights = [mytorch.cat([a, b]) for a, b in zip(first, second, strict=True)]
        shapes = [(5, 3), (5,), (2, 5), (2,)]
        losses = [(a + b) / 2 for a, b in zip(one, other, strict=True)]
        return [*losses, *(each.view(shape) for each, shape in zip(weights, shapes, strict=True))]

    agree(trained, mytorch)


@part(SHARDS + "Gathered", SHARDS + "SavedView", SHARDS + "SavedView.__init__", SHARDS + "FSDPParam.reshard")
def test_the_whole_is_in_memory_while_it_is_needed(mytorch: ModuleType) -> None:
    """On a GPU: shards between the passes, although the graph has saved the weight; and what was saved is right."""
    mytorch.cuda.simulate(2)
    layers = [mytorch.nn.Linear(64, 64, bias=False) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    expected = layers[0].weight.detach().clone()
    whole = 64 * 64 * 4

    def job(rank: int) -> Any:
        mytorch.cuda.set_device(rank)
        layer = mytorch.nn.parallel.fully_shard(layers[rank].cuda())
        begin = mytorch.cuda.memory_allocated(rank)
        x = mytorch.ones(1, 64, device=f"cuda:{rank}", requires_grad=True)
        out = layer(x)
        between = mytorch.cuda.memory_allocated(rank) - x.nbytes * 2  # and `out`
        total = out.sum()
        del out
        total.backward()
        del total
        return begin, between, mytorch.cuda.memory_allocated(rank), x.grad.cpu()

    try:
        for begin, between, after, grad in mytorch.distributed.spawn(job, nprocs=2):
            assert begin == whole // 2
            assert between < whole // 2 + 2048  # blocks of 512 bytes
            assert after < whole + 4096  # the shard and its gradient
            close([grad], [expected.sum(0, keepdim=True)])
    finally:
        mytorch.cuda.simulate(0)


@part(SHARDS + "fully_shard", SHARDS + "Shard")
def test_what_is_left_alone(mytorch: ModuleType) -> None:
    """Frozen parameters stay whole, shards aren't cut again, and without a graph nothing waits for a backward pass."""

    def job(rank: int) -> Any:
        model = a_model(mytorch)
        model[0].weight.requires_grad_(False)
        expected = model(mytorch.tensor(X))
        sharded(mytorch, model, True)
        with mytorch.no_grad():
            out = model(mytorch.tensor(X))
        return [tuple(each.shape) for each in model.parameters()], out, expected, [*model.state_dict()]

    shapes = [[(5, 3), (3,), (5,), (1,)], [(5, 3), (2,), (5,), (1,)]]
    for (found, out, expected, names), shape in zip(mytorch.distributed.spawn(job, nprocs=2), shapes, strict=True):
        assert found == shape and names == ["0.weight", "0.bias", "2.weight", "2.bias"]
        close([out], [expected])


@part(RING + "CopyToRanks", RING + "SumOverRanks", RING + "summed")
def test_columns_then_rows(mytorch: ModuleType) -> None:
    """The gradients too: of the input on every rank, and of the weights in shares."""
    up, down = numbers(6, 3), numbers(2, 6, seed=1)

    def job(rank: int) -> Any:
        distributed = mytorch.distributed
        a = mytorch.tensor(up[2 * rank : 2 * rank + 2]).requires_grad_()
        b = mytorch.tensor(down[:, 2 * rank : 2 * rank + 2]).requires_grad_()
        x = mytorch.tensor(X).requires_grad_()
        out = distributed.SumOverRanks.apply(mytorch.tanh(distributed.CopyToRanks.apply(x) @ a.T) @ b.T)
        (out**2).sum().backward()
        assert a.grad is not None and distributed.bytes_sent() == 2 * 2 * 4 * (24 + 36) // 3
        return out, x.grad, a.grad, b.grad

    def computed(torch: Any) -> list[Any]:
        if torch is mytorch:
            found = mytorch.distributed.spawn(job, nprocs=3)
            for out, grad, *_ in found[1:]:
                close([out, grad], found[0][:2])
            return [
                *found[0][:2],
                mytorch.cat([each[2] for each in found]),
                mytorch.cat([each[3] for each in found], 1),
            ]
        x, a, b = (torch.tensor(each).requires_grad_() for each in (X, up, down))
        out = torch.tanh(x @ a.T) @ b.T
        (out**2).sum().backward()
        return [out, x.grad, a.grad, b.grad]

    agree(computed, mytorch)


@part(RING + "send", RING + "received")
def test_messages_between_gpus_arrive_on_the_current_one(mytorch: ModuleType) -> None:
    """As with NCCL: a rank's tensors are on its own GPU."""
    mytorch.cuda.simulate(3)

    def job(rank: int) -> Any:
        mytorch.cuda.set_device(rank)
        x = mytorch.full((5,), float(rank), device=f"cuda:{rank}")
        mytorch.distributed.send(x, (rank + 1) % 3)
        in_flight = mytorch.cuda.memory_allocated(rank)
        got = mytorch.distributed.received((rank - 1) % 3)
        mytorch.distributed.all_reduce(x)
        return str(got.device), got.tolist(), x.tolist(), in_flight

    try:
        for rank, found in enumerate(mytorch.distributed.spawn(job, nprocs=3)):
            assert found == (f"cuda:{rank}", [float((rank - 1) % 3)] * 5, [3.0] * 5, 512)
    finally:
        mytorch.cuda.simulate(0)


@part("mytorch.arrays:refuse_freed", "mytorch.cuda:as_strided")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_freed_memory_is_not_read(mytorch: ModuleType, device: str) -> None:
    """A tensor on memory that an FSDPParam has freed: NumPy checks no bounds in an empty array."""
    mytorch.cuda.simulate(1)
    try:
        whole = mytorch.ones(2, 3, device=device)
        saved = whole.t()
        whole.storage.flat = whole.storage.flat[:0]
        with pytest.raises(RuntimeError, match="its data is not allocated yet"):
            saved.exp()
        assert saved[:, :0].exp().shape == (3, 0)
    finally:
        mytorch.cuda.simulate(0)
