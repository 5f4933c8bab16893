"""A pass through a DataLoader goes as torch's does when something is unusual: errors, restarts, odd samplers."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.same import errors, exactly_the_same


def data_of(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.data")


def loader(torch: Any, dataset: Any, *args: Any, **options: Any) -> Any:
    return data_of(torch).DataLoader(dataset, *args, **{"collate_fn": list, **options})


def steps(batches: Iterator[Any], count: int) -> list[Any]:
    """What each of `count` calls of next gives or raises; of errors with a traceback of a worker the first line."""

    def step() -> Any:
        try:
            return next(batches)
        except Exception as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0]

    return [step() for _ in range(count)]


class Numbers:
    """0 to 5, but for what happens at some of them."""

    def __init__(self, **happens: Callable[[], Any]) -> None:
        self.happens = happens

    def __getitem__(self, index: int) -> Any:
        return self.happens.get(f"at_{index}", lambda: index)()

    def __len__(self) -> int:
        return 6


class MessageError(Exception):
    """An exception that has to be told its message by name."""

    message = "nothing yet"

    def __init__(self, *, message: str) -> None:
        super().__init__(message)


def throw(error: BaseException) -> Any:
    raise error


@exactly_the_same
def test_the_order_is_asked_for_when_the_pass_begins(torch: Any) -> Any:
    class Drawn:
        asked = 0

        def __iter__(self) -> Any:
            self.asked += 1
            return iter(torch.randperm(6).view(3, 2).tolist())

        def __len__(self) -> int:
            return 3

    drawn = Drawn()
    here = loader(torch, Numbers(), batch_sampler=drawn)
    there = loader(torch, Numbers(), batch_sampler=drawn, num_workers=1, persistent_workers=True)
    return [
        [list(here), drawn.asked, torch.rand(1)],
        *([list(there), drawn.asked, torch.rand(1)] for _ in range(2)),
    ]


@exactly_the_same
def test_a_pass_goes_on_after_an_error(torch: Any) -> Any:
    failing = Numbers(at_1=lambda: throw(ValueError("bad")), at_4=lambda: throw(StopIteration()))
    here = steps(iter(loader(torch, failing)), 7)
    there = steps(iter(loader(torch, failing, num_workers=2)), 7)
    return [here, there]


@exactly_the_same
def test_exceptions_of_all_kinds(torch: Any) -> Any:
    kinds = [
        MessageError(message="m"),
        KeyError("k"),
        OSError(2, "no such file"),
        UnicodeDecodeError("utf8", b"x", 0, 1, "r"),
    ]
    happens = {f"at_{number}": lambda error=error: throw(error) for number, error in enumerate(kinds)}
    return steps(iter(loader(torch, Numbers(**happens), num_workers=1)), 6)


@exactly_the_same
def test_persistent_workers_have_one_pass(torch: Any) -> Any:
    batches = loader(torch, Numbers(), 2, num_workers=1, persistent_workers=True)
    first, second = iter(batches), iter(batches)
    outer = [(x, y) for x in batches for y in batches]
    return [first is second, outer, steps(first, 2), len(first), type(first).__name__]


@exactly_the_same
def test_iterators(torch: Any) -> Any:
    batches = iter(loader(torch, Numbers(), 4))
    module = importlib.import_module(f"{torch.__name__}.utils.data.dataloader")
    return [len(batches), isinstance(batches, module._BaseDataLoaderIter), errors(lambda: pickle.dumps(batches))]


@exactly_the_same
def test_iterable_datasets(torch: Any) -> Any:
    data = data_of(torch)

    class Resumes(data.IterableDataset):  # type: ignore[misc, name-defined]
        """Says that it ends, and goes on when it is asked again."""

        count = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            self.count += 1
            if self.count % 4 == 0:
                raise StopIteration
            return self.count

    abstract = type("Abstract", (data.IterableDataset,), {})
    return [steps(iter(loader(torch, Resumes(), 2)), 3), errors(lambda: loader(torch, abstract()))]


@pytest.mark.turns(8)
@exactly_the_same
def test_free_workers_get_the_work(torch: Any) -> Any:
    others_came = multiprocessing.Event()
    waits = Numbers(at_0=lambda: others_came.wait(60))
    batches = iter(loader(torch, waits, num_workers=2, prefetch_factor=1, in_order=False))
    others = steps(batches, 5)
    others_came.set()
    return others, steps(batches, 2)


@exactly_the_same
def test_worker_info(torch: Any) -> Any:
    def told() -> Any:
        info = data_of(torch).get_worker_info()
        shown = repr(info).partition("dataset=")[0], repr(info).partition("rng=")[2]
        return shown, errors(lambda: setattr(info, "id", 3))[0][0]

    return list(loader(torch, Numbers(at_0=told), sampler=[0], num_workers=1))


@exactly_the_same
def test_the_context_can_be_set(torch: Any) -> Any:
    def chosen(workers: int, context: Any) -> Any:
        batches = loader(torch, Numbers(), num_workers=workers)
        batches.multiprocessing_context = context
        return type(batches.multiprocessing_context).__name__

    return errors(*(lambda w=w, c=c: chosen(w, c) for w in (0, 1) for c in (None, "spawn", "magic", 3)))


@exactly_the_same
def test_indices_of_any_kind(torch: Any) -> Any:
    rows = torch.arange(8.0).view(4, 2)
    kinds: list[Any] = [
        *([], range(2), (0, -1), np.array([0, 3]), torch.tensor([1, 2]), [torch.tensor(0), np.int64(3)]),
        *(["a"], [0.5], [4], [slice(0, 2)], [None]),
    ]

    def batch(indices: Any) -> Any:
        return next(iter(data_of(torch).DataLoader(data_of(torch).TensorDataset(rows), batch_sampler=[indices])))

    leaf = data_of(torch).TensorDataset(rows.clone().requires_grad_())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = errors(*(lambda kind=kind: batch(kind) for kind in kinds))
    return [found, next(iter(data_of(torch).DataLoader(leaf, 2)))[0].grad_fn.name()]


@exactly_the_same
def test_batches_that_a_dataset_makes(torch: Any) -> Any:
    class Tuples(Numbers):
        def __getitems__(self, indices: Any) -> Any:
            return tuple(indices)

    data = data_of(torch)
    return [
        list(data.DataLoader(Tuples(), 4, collate_fn=lambda batch: (type(batch).__name__, batch))),
        list(data.DataLoader(Tuples(), 4)),
        errors(lambda: data.default_collate(torch.ones(2)))[0][0],
    ]


def test_a_pass_goes_on_after_a_death() -> None:
    """With the worker that is left, as in torch, which takes ten seconds for it."""
    batches = iter(loader(minitorch, Numbers(at_1=lambda: os._exit(3)), num_workers=2, prefetch_factor=1))
    first, death, *rest = steps(batches, 4)
    assert [first, rest] == [[0], [[2], [3]]]
    assert death.endswith("exited unexpectedly")


def test_batches_in_a_profile() -> None:
    with minitorch.profiler.profile() as profile:
        next(iter(loader(minitorch, Numbers())))
    names = [event.name for event in profile.events()]
    assert names == ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"]


def test_what_cannot_be_pickled_for_a_spawned_worker() -> None:
    batches = minitorch.utils.data.DataLoader(Numbers(at_0=lambda: 0), num_workers=1, multiprocessing_context="spawn")
    with (
        pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker"),
        pytest.raises((AttributeError, pickle.PicklingError)),
    ):
        iter(batches)
