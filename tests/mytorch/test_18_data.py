"""Chapter 18 of mytorch against minitorch and PyTorch: orders, batches, loaders, and what threads must not change."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import agree, numbers, pytorch, same

part = pytest.mark.part
data = "mytorch.utils.data."
Point = namedtuple("Point", ["x", "y"])


class Squares:
    """A dataset of any library: 0, 1, 4, ..."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.count:
            raise IndexError(f"no sample {index}")
        return index**2


@part(data + "sampler:RandomSampler.__iter__", data + "sampler:SequentialSampler.__iter__")
@part(data + "sampler:SubsetRandomSampler.__iter__", data + "sampler:WeightedRandomSampler.__iter__")
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("own", [False, True])
def test_samplers_give_pytorchs_order(mytorch: ModuleType, seed: int, own: bool) -> None:
    def passes(torch: Any) -> Any:
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed + 1) if own else None
        data, found = torch.utils.data, []
        for make in (
            lambda: data.SequentialSampler(range(3)),
            lambda: data.RandomSampler(range(7), generator=generator),
            lambda: data.RandomSampler(range(7), num_samples=3, generator=generator),
            lambda: data.RandomSampler(range(3), num_samples=8, generator=generator),
            lambda: data.RandomSampler(range(9), replacement=True, num_samples=70, generator=generator),
            lambda: data.SubsetRandomSampler([5, 3, 8, 9], generator=generator),
            lambda: data.WeightedRandomSampler([0.1, 3, 0, 1], 9, generator=generator),
            lambda: data.WeightedRandomSampler([0.1, 3, 2, 1], 3, replacement=False, generator=generator),
        ):
            sampler = make()
            found.append((len(sampler), list(sampler), list(sampler)))
        return found, torch.rand(1)  # what is left of the default generator's stream

    same(passes, mytorch)


@part(data + "sampler:RandomSampler.__init__")
def test_a_random_sampler_of_nothing(mytorch: ModuleType) -> None:
    same(lambda torch: torch.utils.data.RandomSampler([]), mytorch)


@part(data + "sampler:BatchSampler.__iter__", data + "sampler:BatchSampler.__len__", data + "sampler:batched")
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", [0, 5, 6, 7])
def test_batches_of_indices(mytorch: ModuleType, count: int, drop_last: bool) -> None:
    def batches(torch: Any) -> Any:
        sampler = torch.utils.data.BatchSampler(range(10, 10 + count), 3, drop_last)
        return list(sampler), list(sampler), len(sampler)

    same(batches, mytorch)


@part(data + "sampler:BatchSampler.__init__")
@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_what_is_no_batch_size(mytorch: ModuleType, size: Any) -> None:
    same(lambda torch: torch.utils.data.BatchSampler(range(3), size, False), mytorch)


def test_batches_are_made_when_they_are_asked_for(mytorch: ModuleType) -> None:
    taken: list[int] = []

    def endless() -> Any:
        for index in range(100):
            taken.append(index)
            yield index

    batches = iter(mytorch.utils.data.BatchSampler(endless(), 2, False))
    assert next(batches) == [0, 1]
    assert taken == [0, 1]


@part(data + "distributed:DistributedSampler.__iter__", data + "distributed:DistributedSampler.__len__")
@part(data + "distributed:DistributedSampler.share")
@part(data + "distributed:DistributedSampler.set_epoch")
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("count", "ranks"), [(8, 3), (9, 3), (2, 5), (10, 1), (1, 4), (7, 2)])
def test_the_share_of_each_process(mytorch: ModuleType, count: int, ranks: int, drop_last: bool) -> None:
    def shares(torch: Any) -> Any:
        found = []
        for rank in range(ranks):
            for options in ({"shuffle": False}, {}, {"seed": 5}):
                sampler = torch.utils.data.DistributedSampler(range(count), ranks, rank, drop_last=drop_last, **options)
                found.append((len(sampler), list(sampler), list(sampler)))
                sampler.set_epoch(3)
                found.append((len(sampler), list(sampler)))
        return found

    same(shares, mytorch)


@part(data + "distributed:DistributedSampler.__init__")
@pytest.mark.parametrize("rank", [-1, 3])
def test_a_rank_that_isnt_there(mytorch: ModuleType, rank: int) -> None:
    same(lambda torch: torch.utils.data.DistributedSampler(range(8), 3, rank), mytorch)


BATCHES: dict[str, Any] = {
    "tensors": lambda torch: [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])],
    "numbers without dimensions": lambda torch: [torch.tensor(1), torch.tensor(2)],
    "integers": lambda torch: [3, 1, 2],
    "floats": lambda torch: [0.5, 1.5],
    "booleans": lambda torch: [True, False],
    "an integer first, then a float": lambda torch: [1, 2.5],
    "strings": lambda torch: ["a", "b"],
    "bytes": lambda torch: [b"a", b"b"],
    "arrays": lambda torch: [np.arange(3), np.arange(3) + 1],
    "arrays of float32": lambda torch: [np.ones((2, 1), np.float32)] * 3,
    "NumPy numbers": lambda torch: [np.float32(1.5), np.float32(2)],
    "NumPy doubles": lambda torch: [np.float64(1.5), np.float64(2)],
    "NumPy booleans": lambda torch: [np.bool_(True), np.bool_(False)],
    "tuples": lambda torch: [(1, "a"), (2, "b")],
    "lists": lambda torch: [[1, 0.5], [2, 1.5]],
    "named tuples": lambda torch: [Point(1, 2.0), Point(3, 4.0)],
    "dicts": lambda torch: [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}],
    "dicts with other keys later": lambda torch: [{"a": 1}, {"a": 2, "b": 3}],
    "dicts in tuples in dicts": lambda torch: [{"x": ({"y": 1}, "s")}, {"x": ({"y": 2}, "t")}],
    "ragged tensors": lambda torch: [torch.ones(3), torch.ones(2)],
    "ragged lists": lambda torch: [[1, 2], [1]],
    "a missing key": lambda torch: [{"a": 1}, {"b": 2}],
    "a set": lambda torch: [{1}, {2}],
    "None": lambda torch: [None, None],
    "arrays of strings": lambda torch: [np.array(["a"]), np.array(["b"])],
    "nothing": lambda torch: [],
}


@part(data + "collate:default_collate", data + "collate:collate_leaves")
@pytest.mark.parametrize("name", BATCHES)
def test_default_collate(mytorch: ModuleType, name: str) -> None:
    same(lambda torch: torch.utils.data.default_collate(BATCHES[name](torch)), mytorch)


@part(data + "dataset:TensorDataset.__getitem__", data + "dataset:TensorDataset.__len__")
def test_rows_of_tensors(mytorch: ModuleType) -> None:
    def rows(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(3, 2)
        dataset = torch.utils.data.TensorDataset(x, torch.tensor([4, 5, 6]))
        dataset[1][0].mul_(10)  # a sample is a view
        return len(dataset), dataset[1], dataset[-1], dataset[1:], x

    same(rows, mytorch)


@part(data + "dataset:TensorDataset.__init__")
def test_tensors_of_unequal_lengths(mytorch: ModuleType) -> None:
    same(lambda torch: torch.utils.data.TensorDataset(torch.ones(3), torch.ones(2)), mytorch)


@part(data + "dataset:Dataset.__getitem__")
def test_a_dataset_without_getitem(mytorch: ModuleType) -> None:
    same(lambda torch: torch.utils.data.Dataset()[0], mytorch)
    assert issubclass(mytorch.utils.data.IterableDataset, mytorch.utils.data.Dataset)
    same(lambda torch: torch.utils.data.IterableDataset(), mytorch)


@part(data + "dataset:Subset.__getitem__", data + "dataset:Subset.__len__", data + "dataset:random_split")
@pytest.mark.parametrize("lengths", [[3, 7], [0.5, 0.3, 0.2], [0.35, 0.35, 0.3], [0.55, 0.45], [4, 4], [0.5, 0.4]])
@pytest.mark.parametrize("own", [False, True])
def test_random_splits(mytorch: ModuleType, lengths: list[float], own: bool) -> None:
    def split(torch: Any) -> Any:
        torch.manual_seed(3)
        options = {"generator": torch.Generator().manual_seed(4)} if own else {}
        parts = torch.utils.data.random_split(Squares(10), lengths, **options)
        return [(len(each), [each[i] for i in range(len(each))], each.indices) for each in parts], torch.rand(1)

    same(split, mytorch)


OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "batches": {"batch_size": 4},
    "dropped": {"batch_size": 4, "drop_last": True},
    "shuffled": {"batch_size": 3, "shuffle": True},
    "a sampler": {"batch_size": 2, "sampler": [3, 1, 2]},
    "a batch sampler": {"batch_sampler": [[0, 1, 2], [9]]},
    "collated by hand": {"batch_size": 4, "collate_fn": sum},
}


@part(data + "dataloader:DataLoader.__init__", data + "dataloader:DataLoader.__iter__")
@part(data + "dataloader:DataLoader.__len__", data + "dataloader:DataLoader.fetch_indices")
@part(data + "sampler:draw_seed")
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("workers", [0, 3])
def test_a_loader_gives_pytorchs_batches(mytorch: ModuleType, name: str, own: bool, workers: int) -> None:
    def passes(torch: Any) -> Any:
        torch.manual_seed(5)
        options = dict(OPTIONS[name])
        generator = torch.Generator().manual_seed(6) if own else None
        threads = {"num_workers": workers} if torch is mytorch else {}
        loader = torch.utils.data.DataLoader(Squares(10), generator=generator, **options, **threads)
        return len(loader), list(loader), list(loader), torch.rand(2)

    same(passes, mytorch)


@pytest.mark.parametrize("name", ["nothing", "shuffled", "a sampler", "a batch sampler"])
def test_each_pass_draws_a_seed(mytorch: ModuleType, name: str) -> None:
    def drawn(torch: Any) -> Any:
        torch.manual_seed(0)
        loader = torch.utils.data.DataLoader(Squares(10), **OPTIONS[name])
        iter(loader), iter(loader)
        return torch.rand(2)

    same(drawn, mytorch)


def test_a_batch_sampler_that_draws_at_once_draws_before_the_seed(mytorch: ModuleType) -> None:
    def drawn(torch: Any) -> Any:
        class Drawing:
            def __iter__(self) -> Any:
                return iter(torch.randperm(6).reshape(2, 3).tolist())

        torch.manual_seed(1)
        return list(torch.utils.data.DataLoader(Squares(10), batch_sampler=Drawing())), torch.rand(1)

    same(drawn, mytorch)


@part(data + "dataloader:check_options")
@pytest.mark.parametrize(
    "options",
    [
        {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "sampler": [1]},
        {"batch_sampler": [[1]], "drop_last": True},
    ],
    ids=lambda options: "-".join(options),
)
def test_options_that_exclude_each_other(mytorch: ModuleType, options: dict[str, Any]) -> None:
    same(lambda torch: torch.utils.data.DataLoader(Squares(3), **options), mytorch)


def stream(torch: Any, count: int) -> Any:
    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(count))

    return Stream()


@part(data + "dataset:IterableDataset")
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream(mytorch: ModuleType, drop_last: bool, workers: int) -> None:
    def batches(torch: Any) -> Any:
        threads = {"num_workers": workers} if torch is mytorch else {}
        torch.manual_seed(0)
        loader = torch.utils.data.DataLoader(stream(torch, 7), batch_size=3, drop_last=drop_last, **threads)
        return list(loader), list(loader), torch.rand(1)

    same(batches, mytorch)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_a_stream_has_no_order_to_choose(mytorch: ModuleType, options: dict[str, Any]) -> None:
    same(lambda torch: torch.utils.data.DataLoader(stream(torch, 7), **options), mytorch)


@part(data + "prefetch:Prefetcher.__next__", data + "prefetch:Prefetcher.__init__")
def test_batches_come_in_order_whatever_the_threads_do(mytorch: ModuleType) -> None:
    may_go = threading.Event()
    finished: list[int] = []

    class Slow(Squares):
        def __getitem__(self, index: int) -> int:
            if index == 0:
                assert may_go.wait(10)
            finished.append(index)
            if len(finished) == 3:
                may_go.set()
            return index

    found = [batch.tolist() for batch in mytorch.utils.data.DataLoader(Slow(8), num_workers=2)]
    assert found == [[index] for index in range(8)]
    assert finished.index(0) >= 3


@part(data + "prefetch:work")
def test_what_a_thread_does(mytorch: ModuleType) -> None:
    prefetch = mytorch.utils.data.prefetch
    tasks, results = prefetch.Queue(), prefetch.Queue()
    for task in ((5, 2), (6, 0), (7, 4), prefetch.STOP, (8, 1)):
        tasks.put(task)
    prefetch.work(lambda chosen: 8 / chosen, tasks, results)
    found = [results.get() for _ in range(3)]
    assert [(number, batch, type(error).__name__) for number, batch, error in found] == [
        (5, 4.0, "NoneType"),
        (6, None, "ZeroDivisionError"),
        (7, 2.0, "NoneType"),
    ]
    assert (results.empty(), tasks.get()) == (True, (8, 1))


@part(data + "prefetch:Prefetcher._ask")
def test_only_so_many_batches_are_ahead(mytorch: ModuleType) -> None:
    taken: list[int] = []

    def indices() -> Any:
        for index in range(100):
            taken.append(index)
            yield [index]

    loader = mytorch.utils.data.DataLoader(Squares(100), batch_sampler=indices(), num_workers=2, prefetch_factor=3)
    batches = iter(loader)
    assert len(taken) == 6
    next(batches)
    assert len(taken) == 7


def failing(torch: Any, error: BaseException) -> Any:
    class Failing(Squares):
        def __getitem__(self, index: int) -> int:
            if index == 3:
                raise error
            return super().__getitem__(index)

    return Failing(8)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_an_exception_reaches_the_caller_in_its_turn(mytorch: ModuleType, workers: int) -> None:
    error = ValueError("sample 3 is broken")
    batches = iter(mytorch.utils.data.DataLoader(failing(mytorch, error), batch_size=2, num_workers=workers))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(ValueError, match="sample 3 is broken") as caught:
        next(batches)
    assert caught.value is error
    assert [entry.name for entry in caught.traceback][-1] == "__getitem__"
    assert next(batches).tolist() == [16, 25]  # as in PyTorch, the pass goes on
    assert next(batches).tolist() == [36, 49]
    assert next(batches, "the end") == "the end"
    assert next(batches, "the end") == "the end"


@part(data + "prefetch:Prefetcher._receive")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_too_early_is_noticed(mytorch: ModuleType) -> None:
    batches = iter(mytorch.utils.data.DataLoader(failing(mytorch, SystemExit()), num_workers=2))
    assert [next(batches).item() for _ in range(3)] == [0, 1, 4]
    with pytest.raises(RuntimeError, match=r"^DataLoader worker exited unexpectedly$"):
        next(batches)
    with pytest.raises(RuntimeError, match=r"^no batch is on its way$"):
        batches.received = batches.asked
        batches._receive()


def loading() -> int:
    """How many threads of a loader are alive, once those that were told to end have had a minute for it."""
    deadline = time.monotonic() + 60
    while True:
        count = sum("work" in thread.name for thread in threading.enumerate())
        if count == 0 or time.monotonic() > deadline:
            return count
        time.sleep(0.001)


@part(data + "prefetch:Prefetcher.close", data + "prefetch:Prefetcher.__del__")
@pytest.mark.parametrize("used", ["to the end", "one batch"])
def test_threads_end_with_the_pass(mytorch: ModuleType, used: str) -> None:
    fetched: list[int] = []

    class Counting(Squares):
        def __getitem__(self, index: int) -> int:
            fetched.append(index)
            return index

    batches = iter(mytorch.utils.data.DataLoader(Counting(50), num_workers=2))
    if used == "one batch":
        next(batches)
    else:
        assert len(list(batches)) == 50
    del batches
    assert loading() == 0
    assert len(fetched) <= 5 or used == "to the end"


def test_a_sampler_that_fails(mytorch: ModuleType) -> None:
    def indices() -> Any:
        yield [0]
        raise ValueError("no more")

    for workers in (0, 2):
        loader = mytorch.utils.data.DataLoader(Squares(3), batch_sampler=indices(), num_workers=workers)
        with pytest.raises(ValueError, match="no more"):
            list(loader)


def test_a_model_trains_on_the_loader(mytorch: ModuleType) -> None:
    x, y = numbers(40, 3), np.arange(40) % 3

    def losses(torch: Any) -> Any:
        torch.manual_seed(0)
        dataset = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
        threads = {"num_workers": 2} if torch is mytorch else {}
        loader = torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True, **threads)
        model, found = torch.nn.Linear(3, 3), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(3):
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(inputs), targets)
                loss.backward()
                optimizer.step()
                found.append(loss)
        return found

    agree(losses, mytorch)


WORKERS = Path(__file__).parents[2] / "notebooks" / "files" / "workers.py"
WITHOUT_FORK = (
    "import multiprocessing, runpy, sys; multiprocessing.get_all_start_methods = lambda: ['spawn']; "
    "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


def printed(*command: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def lines() -> str:
    """What the lesson's script prints of worker processes, where there is a fork."""
    out, errors = printed(str(WORKERS))
    assert errors == ""
    return out


@pytest.mark.turns(8)
def test_worker_processes_do_the_same_in_pytorch(lines: str) -> None:
    assert pytorch is None or printed(str(WORKERS), "torch")[0] == lines


@pytest.mark.turns(8)
def test_the_script_of_workers_without_fork(lines: str) -> None:
    out, errors = printed("-c", WITHOUT_FORK, str(WORKERS))
    assert out == lines
    assert errors == "No fork on this machine: these lines are what Linux printed.\n"


@pytest.mark.turns(8)
def test_workers_take_turns_as_in_pytorch() -> None:
    out, errors = printed(str(WORKERS.with_name("turns.py")))
    assert errors == ""
    # Each worker has a queue of its own: sample 2 waits behind sample 0.
    assert "finished before sample 0: [1, 3], given first: 0" in out
    assert pytorch is None or printed(str(WORKERS.with_name("turns.py")), "torch")[0] == out
