"""Datasets, samplers and the loader against torch: the same samples, in the same random order."""

from __future__ import annotations

import collections
import gc
import importlib
import multiprocessing
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.utils.data
from tests.same import attempt, exactly_the_same

Point = collections.namedtuple("Point", "x y")
ROWS = 11


def oracle() -> Any:
    return pytest.importorskip("torch", reason="torch is the oracle of the loader: pip install torch==2.13.0")


def data_of(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.utils.data")


def rows(lib: Any, start: int = 0) -> Any:
    x = lib.from_numpy(np.arange(start, start + ROWS * 3, dtype=np.float32).reshape(ROWS, 3))
    return data_of(lib).TensorDataset(x, lib.from_numpy(np.arange(start, start + ROWS)))


def plain(value: Any) -> Any:
    """Tensors as (dtype, list), so that both libraries' can be compared."""
    if hasattr(value, "requires_grad"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(each) for each in value]
    return value


class Samples:
    """A dataset that is not a subclass of anything, of what the default collate function must cope with."""

    def __init__(self, make: Callable[[Any, int], Any], lib: Any) -> None:
        self.make = make
        self.lib = lib

    def __getitem__(self, index: int) -> Any:
        return self.make(self.lib, index)

    def __len__(self) -> int:
        return ROWS


def counting(lib: Any, count: int = ROWS, reported: int | None = None) -> Any:
    """An iterable dataset; workers share the numbers among themselves."""
    data = data_of(lib)

    class Counting(data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            first, step = (0, 1) if info is None else (info.id, info.num_workers)
            return iter(range(first, count, step))

        def __len__(self) -> int:
            return count if reported is None else reported

        def __repr__(self) -> str:
            return "Counting()"

    return Counting()


def drawn(lib: Any, value: Any) -> Any:
    """A value, and what is left of the random stream."""
    return plain(value), lib.rand(2)


LOADERS: dict[str, Callable[[Any], Any]] = {
    "default": lambda lib: data_of(lib).DataLoader(rows(lib)),
    "batches": lambda lib: data_of(lib).DataLoader(rows(lib), 4),
    "drop_last": lambda lib: data_of(lib).DataLoader(rows(lib), 4, drop_last=True),
    "shuffle": lambda lib: data_of(lib).DataLoader(rows(lib), 4, shuffle=True),
    "shuffle drop_last": lambda lib: data_of(lib).DataLoader(rows(lib), 4, shuffle=True, drop_last=True),
    "generator": lambda lib: data_of(lib).DataLoader(
        rows(lib), 4, shuffle=True, generator=lib.Generator().manual_seed(3)
    ),
    "batch_size None": lambda lib: data_of(lib).DataLoader(rows(lib), None),
    "batch_size None shuffle": lambda lib: data_of(lib).DataLoader(rows(lib), None, shuffle=True),
    "sampler": lambda lib: data_of(lib).DataLoader(rows(lib), 2, sampler=[3, 1, 4, 1, 5]),
    "batch_sampler": lambda lib: data_of(lib).DataLoader(rows(lib), batch_sampler=[[1, 2], [3], [4, 5, 6]]),
    "replacement": lambda lib: data_of(lib).DataLoader(
        rows(lib), 4, sampler=data_of(lib).RandomSampler(rows(lib), replacement=True, num_samples=70)
    ),
    "num_samples": lambda lib: data_of(lib).DataLoader(
        rows(lib), 4, sampler=data_of(lib).RandomSampler(rows(lib), num_samples=25)
    ),
    "subset sampler": lambda lib: data_of(lib).DataLoader(
        rows(lib), 2, sampler=data_of(lib).SubsetRandomSampler([8, 3, 5, 1])
    ),
    "weighted sampler": lambda lib: data_of(lib).DataLoader(
        rows(lib), 2, sampler=data_of(lib).WeightedRandomSampler([0.1, 0.9, 0.5, 0.0, 2.0], 9)
    ),
    "collate_fn": lambda lib: data_of(lib).DataLoader(
        rows(lib), 3, collate_fn=lambda batch: [type(batch).__name__, len(batch), [x.tolist() for x, _ in batch]]
    ),
    "subset": lambda lib: data_of(lib).DataLoader(data_of(lib).Subset(rows(lib), [5, 2, 9, 0]), 3, shuffle=True),
    "concat": lambda lib: data_of(lib).DataLoader(rows(lib) + rows(lib, 100), 5),
    "stack": lambda lib: data_of(lib).DataLoader(data_of(lib).StackDataset(rows(lib), rows(lib, 50)), 4),
    "stack dict": lambda lib: data_of(lib).DataLoader(data_of(lib).StackDataset(a=rows(lib), b=range(ROWS)), 4),
    "random_split": lambda lib: data_of(lib).DataLoader(data_of(lib).random_split(rows(lib), [3, 8])[1], 4),
    "iterable": lambda lib: data_of(lib).DataLoader(counting(lib), 4),
    "iterable drop_last": lambda lib: data_of(lib).DataLoader(counting(lib), 4, drop_last=True),
    "iterable one by one": lambda lib: data_of(lib).DataLoader(counting(lib), None),
    "chain": lambda lib: data_of(lib).DataLoader(counting(lib) + counting(lib, 3), 4),
    "numbers": lambda lib: data_of(lib).DataLoader(
        Samples(lambda lib, i: (i, i / 2, i % 2 == 0, str(i), b"x"), lib), 4
    ),
    "numpy": lambda lib: data_of(lib).DataLoader(
        Samples(lambda lib, i: (np.arange(i, i + 2), np.float32(i), np.int8(i), np.bool_(i)), lib), 4
    ),
    "containers": lambda lib: data_of(lib).DataLoader(
        Samples(lambda lib, i: {"p": Point(i, [i, 2.0 * i]), "d": collections.OrderedDict(a=i)}, lib), 4
    ),
    "convert": lambda lib: data_of(lib).DataLoader(
        Samples(lambda lib, i: {"a": np.arange(i), "t": (np.float64(i), "s"), "n": Point(i, [np.int16(1)])}, lib), None
    ),
}


@pytest.mark.parametrize("name", LOADERS)
@exactly_the_same
def test_loaders(lib: Any, name: str) -> Any:
    """Two passes, the length, and what is left of the random stream."""
    loader = LOADERS[name](lib)
    return drawn(lib, [list(loader), list(loader), len(loader)])


@pytest.mark.parametrize("name", ["shuffle", "batch_size None", "iterable", "numpy", "containers", "stack"])
@pytest.mark.parametrize("options", [{"num_workers": 2}, {"num_workers": 3, "persistent_workers": True}], ids=str)
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@exactly_the_same
def test_workers_give_the_same_batches(lib: Any, name: str, options: dict[str, Any]) -> Any:
    loader = LOADERS[name](lib)
    batch_size = loader.batch_size
    again = data_of(lib).DataLoader(loader.dataset, batch_size, shuffle=name == "shuffle" or None, **options)
    return drawn(lib, [list(again), list(again)])


def seeds_of(worker: int) -> None:
    """A worker_init_fn that leaves its mark in the dataset."""
    info = minitorch.utils.data.get_worker_info()
    assert info is not None
    info.dataset.worker = worker


class Seeds:
    """Shows the state of every generator in a worker."""

    worker = -1

    def __init__(self, lib: Any) -> None:
        self.lib = lib

    def __getitem__(self, index: int) -> Any:
        import random

        info = data_of(self.lib).get_worker_info()
        return [info.id, info.num_workers, info.seed % 1000, random.random(), float(np.random.rand()), self.lib.rand(1)]

    def __len__(self) -> int:
        return 6


@exactly_the_same
def test_workers_are_seeded_as_torchs(lib: Any) -> Any:
    return drawn(lib, list(data_of(lib).DataLoader(Seeds(lib), 1, num_workers=2)))


def test_worker_init_fn() -> None:
    class Marked(Seeds):
        def __getitem__(self, index: int) -> Any:
            return self.worker

    loader = minitorch.utils.data.DataLoader(Marked(minitorch), 1, num_workers=2, worker_init_fn=seeds_of)
    assert [int(batch) for batch in loader] == [0, 1, 0, 1, 0, 1]


class Failing:
    """Fails at one index: by an exception, by death, or by never coming back."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __getitem__(self, index: int) -> Any:
        import os
        import signal
        import time

        if index == 2:
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "hang":
                time.sleep(60)
            if self.how == "unpicklable":
                return lambda: None
            raise {"KeyError": KeyError("lost"), "ValueError": ValueError("bad"), "OddError": OddError(1, 2)}[self.how]
        return index

    def __len__(self) -> int:
        return 6


class OddError(Exception):
    """An exception that can't be made of a message."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(one, other)


@pytest.mark.parametrize("how, kind", [("ValueError", ValueError), ("KeyError", KeyError), ("OddError", RuntimeError)])
def test_exceptions_come_with_the_workers_traceback(how: str, kind: type[Exception]) -> None:
    loader = minitorch.utils.data.DataLoader(Failing(how), 1, num_workers=2)
    with pytest.raises(kind) as caught:
        list(loader)
    text = str(caught.value)
    assert text.startswith(f"Caught {how} in DataLoader worker process 0.\nOriginal Traceback (most recent call last):")
    assert "__getitem__" in text


def test_unpicklable_batches_are_an_error() -> None:
    loader = minitorch.utils.data.DataLoader(Failing("unpicklable"), 1, num_workers=1, collate_fn=list)
    with pytest.raises(Exception, match="pickle"):
        list(loader)


@pytest.mark.parametrize(
    "how, cause",
    [
        ("die", r"DataLoader worker \(pid \d+\) is killed by signal: Killed. "),
        ("exit", r"DataLoader worker \(pid \d+\) exited unexpectedly with exit code 3. Details are lost due to"),
    ],
)
def test_a_killed_worker_is_noticed(how: str, cause: str) -> None:
    loader = minitorch.utils.data.DataLoader(Failing(how), 1, num_workers=2)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(loader)
    assert re.match(cause, str(caught.value.__cause__))


def test_timeout() -> None:
    loader = minitorch.utils.data.DataLoader(Failing("hang"), 1, num_workers=1, timeout=0.5)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.5 seconds"):
        list(loader)


def test_workers_stop() -> None:
    """After a pass, after a pass that was given up, and with the loader when they are persistent."""
    import multiprocessing

    before = set(multiprocessing.active_children())  # of tests before, some of which end meanwhile
    loader = minitorch.utils.data.DataLoader(rows(minitorch), 2, num_workers=2)
    list(loader)
    next(iter(loader))
    gc.collect()
    assert set(multiprocessing.active_children()) <= before
    persistent = minitorch.utils.data.DataLoader(rows(minitorch), 2, num_workers=2, persistent_workers=True)
    list(persistent)
    running = set(multiprocessing.active_children()) - before
    assert len(running) == 2
    next(iter(persistent))
    assert len(list(persistent)) == 6
    assert set(multiprocessing.active_children()) - before == running
    del persistent
    gc.collect()
    assert set(multiprocessing.active_children()) <= before


def test_a_pass_that_was_given_up_leaves_nothing_behind() -> None:
    order = [0, 1, 2, 3, 4, 5]
    loader = minitorch.utils.data.DataLoader(
        range(10), 1, sampler=order, num_workers=2, persistent_workers=True, collate_fn=list
    )
    next(iter(loader))
    order[:] = [9, 8, 7]
    assert list(loader) == [[9], [8], [7]]


def test_spawned_workers() -> None:
    loader = minitorch.utils.data.DataLoader(Failing("never"), 1, sampler=[0, 1, 3], num_workers=1)
    spawned = minitorch.utils.data.DataLoader(
        loader.dataset, 1, sampler=[0, 1, 3], num_workers=1, multiprocessing_context="spawn"
    )
    assert [int(batch) for batch in spawned] == [int(batch) for batch in loader] == [0, 1, 3]


class Mixed:
    """Batches of all that a worker may send: tensors of any layout among other things."""

    def __getitem__(self, index: int) -> Any:
        base = minitorch.arange(6.0).reshape(2, 3) + index
        return {
            "turned": base.t(),
            "rows": base[:, 1:],
            "again": base,
            "half": base.to(minitorch.bfloat16),
            "number": minitorch.tensor(index),
            "nothing": minitorch.zeros(0, 3),
            "leaf": minitorch.ones(2, requires_grad=True),
            "expanded": minitorch.ones(1, 3).expand(4, 3),
            "rest": ("text", index, np.arange(2)),
        }

    def __len__(self) -> int:
        return 3


def same(batch: Any) -> Any:
    return batch


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_batches_come_through_shared_memory(method: str) -> None:
    options: dict[str, Any] = {"batch_size": None, "collate_fn": same}
    here = list(minitorch.utils.data.DataLoader(Mixed(), **options))
    there = list(minitorch.utils.data.DataLoader(Mixed(), num_workers=1, multiprocessing_context=method, **options))
    gc.collect()
    assert plain([{**batch, "rest": batch["rest"][:2]} for batch in there]) == plain(
        [{**batch, "rest": batch["rest"][:2]} for batch in here]
    )
    for batch in there:
        tensors = {name: value for name, value in batch.items() if name != "rest"}
        assert all(tensor.is_shared() for tensor in tensors.values() if tensor.numel())
        assert [batch["turned"].stride(), batch["rows"].stride()] == [(1, 3), (2, 1)]
        assert batch["leaf"].requires_grad and batch["leaf"].is_leaf
        batch["again"].add_(1)  # which nobody else sees
        assert batch["turned"].tolist() != batch["again"].t().tolist()


def test_a_forked_process_leaves_the_workers_of_its_parent_alone() -> None:
    batches: Any = iter(minitorch.utils.data.DataLoader(range(8), num_workers=1, multiprocessing_context="fork"))
    found = [next(batches).item()]
    child = multiprocessing.get_context("fork").Process(target=batches._pool.close)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert found + [batch.item() for batch in batches] == list(range(8))


def test_a_tensor_twice_in_a_batch_is_one_memory() -> None:
    def twice(batch: Any) -> Any:
        tensor = minitorch.ones(2)
        return tensor, [tensor]

    (first, (second,)) = next(iter(minitorch.utils.data.DataLoader(range(2), 1, num_workers=1, collate_fn=twice)))
    first.add_(1)
    assert second.tolist() == [2, 2]


def test_batches_with_a_history_are_refused() -> None:
    def doubled(batch: Any) -> Any:
        return minitorch.ones(2, requires_grad=True) * 2

    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(minitorch.utils.data.DataLoader(range(2), 1, num_workers=1, collate_fn=doubled))


def test_memory_of_batches_goes_with_them() -> None:
    open_files = Path("/dev/fd")
    loader = minitorch.utils.data.DataLoader(rows(minitorch), 2, num_workers=2, persistent_workers=True)
    next(iter(loader))
    gc.collect()
    before = len(list(open_files.iterdir()))
    kept = [batch for _ in range(3) for batch in loader]
    assert len(list(open_files.iterdir())) > before
    assert [y.tolist() for _, y in kept[:2]] == [[0, 1], [2, 3]]
    del kept
    gc.collect()
    assert len(list(open_files.iterdir())) <= before


PARTS: list[dict[str, Any]] = [
    {"num_replicas": 3, "rank": 0},
    {"num_replicas": 3, "rank": 2, "seed": 7},
    {"num_replicas": 3, "rank": 1, "shuffle": False},
    {"num_replicas": 4, "rank": 3, "drop_last": True},
    {"num_replicas": 11, "rank": 5, "drop_last": True},
    {"num_replicas": 30, "rank": 29, "shuffle": False},
    {"num_replicas": 30, "rank": 29, "drop_last": True},
    {"num_replicas": 1, "rank": 0},
]


@pytest.mark.parametrize("options", PARTS, ids=str)
@exactly_the_same
def test_distributed_sampler(lib: Any, options: dict[str, Any]) -> Any:
    sampler = data_of(lib).DistributedSampler(range(ROWS), **options)
    first = list(sampler)
    sampler.set_epoch(3)
    return drawn(lib, [first, list(sampler), len(sampler), sampler.total_size, sampler.num_samples, sampler.epoch])


@pytest.mark.parametrize("rank", [3, -1])
@exactly_the_same
def test_no_such_rank(lib: Any, rank: int) -> Any:
    return attempt(lambda: data_of(lib).DistributedSampler(range(ROWS), num_replicas=3, rank=rank))


def test_spawned_workers_share_the_dataset() -> None:
    dataset = rows(minitorch)
    loader = minitorch.utils.data.DataLoader(
        dataset, ROWS, num_workers=1, multiprocessing_context="spawn", persistent_workers=True
    )
    assert next(iter(loader))[1].tolist() == list(range(ROWS))
    dataset.tensors[1].add_(100)
    assert next(iter(loader))[1].tolist() == list(range(100, 100 + ROWS))


def test_out_of_order() -> None:
    loader = minitorch.utils.data.DataLoader(rows(minitorch), 2, num_workers=2, in_order=False)
    assert sorted(int(y) for _, batch in loader for y in batch) == list(range(ROWS))


def test_a_batch_of_tensors_is_one_indexing_operation() -> None:
    dataset = rows(minitorch)
    samples = dataset.__getitems__([3, 1, 4])
    assert [int(y) for _, y in samples] == [3, 1, 4]
    batch = minitorch.utils.data.default_collate(samples)
    assert batch[0].tolist() == dataset.tensors[0][[3, 1, 4]].tolist()

    class Doubled(minitorch.utils.data.TensorDataset):
        def __getitem__(self, index: Any) -> Any:
            x, y = super().__getitem__(index)
            return x * 2, y

    doubled = Doubled(*dataset.tensors)
    assert next(iter(minitorch.utils.data.DataLoader(doubled, 2)))[0].tolist() == (dataset.tensors[0][:2] * 2).tolist()


def test_batches_are_copies() -> None:
    dataset = rows(minitorch)
    batch = next(iter(minitorch.utils.data.DataLoader(dataset, ROWS)))
    batch[0]._array[...] = -1
    assert dataset.tensors[0][0].tolist() == [0, 1, 2]


SPLITS: list[Any] = [[3, 8], [0.5, 0.5], [0.3, 0.3, 0.4], [1.0], [0.05, 0.95], [3, 3], [1.5, -0.5], [11, 0]]


@pytest.mark.parametrize("lengths", SPLITS, ids=str)
@exactly_the_same
def test_random_split(lib: Any, lengths: Any) -> Any:
    return attempt(lambda: drawn(lib, [each.indices for each in data_of(lib).random_split(range(ROWS), lengths)]))


@exactly_the_same
def test_random_split_by_a_generator(lib: Any) -> Any:
    parts = data_of(lib).random_split(range(ROWS), [4, 7], generator=lib.Generator().manual_seed(5))
    return drawn(lib, [each.indices for each in parts])


INVALID: list[Callable[[Any, Any], Any]] = [
    lambda d, lib: d.DataLoader(rows(lib), num_workers=-1),
    lambda d, lib: d.DataLoader(rows(lib), timeout=-1),
    lambda d, lib: d.DataLoader(rows(lib), prefetch_factor=2),
    lambda d, lib: d.DataLoader(rows(lib), prefetch_factor=-2, num_workers=1),
    lambda d, lib: iter(d.DataLoader(rows(lib), timeout=1)),
    lambda d, lib: iter(d.DataLoader(rows(lib), prefetch_factor=0, num_workers=1)),
    lambda d, lib: d.DataLoader(rows(lib), persistent_workers=True),
    lambda d, lib: d.DataLoader(rows(lib), shuffle=True, sampler=[1]),
    lambda d, lib: d.DataLoader(rows(lib), batch_sampler=[[1]], drop_last=True),
    lambda d, lib: d.DataLoader(rows(lib), batch_size=None, drop_last=True),
    lambda d, lib: d.DataLoader(rows(lib), batch_size=0),
    lambda d, lib: d.DataLoader(rows(lib), multiprocessing_context="fork"),
    lambda d, lib: d.DataLoader(rows(lib), num_workers=1, multiprocessing_context="magic"),
    lambda d, lib: d.DataLoader(rows(lib), num_workers=1, multiprocessing_context=3),
    lambda d, lib: d.DataLoader(counting(lib), shuffle=True),
    lambda d, lib: d.DataLoader(counting(lib), sampler=[1]),
    lambda d, lib: d.DataLoader(counting(lib), batch_sampler=[[1]]),
    lambda d, lib: setattr(d.DataLoader(rows(lib)), "batch_size", 3),
    lambda d, lib: d.RandomSampler(rows(lib), replacement="yes"),
    lambda d, lib: d.RandomSampler(rows(lib), num_samples=0),
    lambda d, lib: d.RandomSampler([]),
    lambda d, lib: d.WeightedRandomSampler([1.0], True),
    lambda d, lib: d.WeightedRandomSampler([1.0], 1, replacement=1),
    lambda d, lib: d.WeightedRandomSampler([[1.0]], 1),
    lambda d, lib: d.BatchSampler([1], True, False),
    lambda d, lib: d.BatchSampler([1], 1, 0),
    lambda d, lib: d.Dataset()[0],
    lambda d, lib: d.TensorDataset(*rows(lib).tensors, rows(lib).tensors[0][:3]),
    lambda d, lib: d.StackDataset(),
    lambda d, lib: d.StackDataset(rows(lib), a=rows(lib)),
    lambda d, lib: d.StackDataset(rows(lib), range(3)),
    lambda d, lib: d.ConcatDataset([]),
    lambda d, lib: d.ConcatDataset([counting(lib)]),
    lambda d, lib: (rows(lib) + rows(lib))[-23],
    lambda d, lib: list(d.ChainDataset([rows(lib)])),
    lambda d, lib: d.random_split(rows(lib), [1, 2]),
    lambda d, lib: d.default_collate([object()]),
    lambda d, lib: d.default_collate([[1, 2], [3]]),
    lambda d, lib: d.default_collate([np.array(["a"])]),
    lambda d, lib: type("Mine", (d.Subset,), {"__getitem__": lambda self, i: 1})(rows(lib), [1]),
]


@pytest.mark.parametrize("number", range(len(INVALID)))
@exactly_the_same
def test_errors_are_torchs(lib: Any, number: int) -> Any:
    kind, words = attempt(lambda: INVALID[number](data_of(lib), lib))
    return kind, words.partition(" object at ")[0]


def test_wrong_length_of_an_iterable_dataset_warns() -> None:
    loader = minitorch.utils.data.DataLoader(counting(minitorch, reported=2), None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match=r"Length of IterableDataset Counting\(\) was reported to be 2"):
        list(loader)


def test_too_many_workers_warn() -> None:
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total"):
        minitorch.utils.data.DataLoader(rows(minitorch), num_workers=1000)


@pytest.mark.parametrize(
    "options",
    [{"pin_memory": True}, {"pin_memory": True, "pin_memory_device": "cuda"}, {"pin_memory_device": "cuda"}],
    ids=str,
)
@pytest.mark.parametrize("persistent", [False, True])
@exactly_the_same
def test_pinning_without_an_accelerator_warns(lib: Any, options: dict[str, Any], persistent: bool) -> Any:
    workers = {"num_workers": 1, "persistent_workers": True} if persistent else {}
    loader = data_of(lib).DataLoader(rows(lib), 6, **options, **workers)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            list(loader)
    return [str(each.message) for each in caught if "pin" in str(each.message)]
