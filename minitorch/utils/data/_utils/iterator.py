"""One pass through the data of a DataLoader.

Source: https://pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
"""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

from minitorch._utils import ExceptionWrapper
from minitorch.arrays import gpus
from minitorch.autograd.profiler import record_function
from minitorch.utils.data._utils.fetch import Fetcher
from minitorch.utils.data._utils.pin_memory import pin_memory
from minitorch.utils.data._utils.pool import WorkerPool
from minitorch.utils.data._utils.worker import Exhausted
from minitorch.utils.data.sampler import draw_seed

if TYPE_CHECKING:
    from minitorch.utils.data.dataloader import DataLoader


class _BaseDataLoaderIter:
    """What both kinds of passes share. `_next_data` makes the next batch."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._pins = loader.pin_memory and gpus.library() is not None
        _warn_of_pinning(loader)
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._index_sampler = loader._index_sampler
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)  # also where there are no workers to seed
        self._reported_length = loader._IterableDataset_len_called
        self._num_yielded = 0
        self._profiled = record_function(f"enumerate(DataLoader)#{type(self).__name__}.__next__")

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        with self._profiled:
            batch = self._next_data()
            if self._pins:
                batch = pin_memory(batch)
        self._num_yielded += 1
        if self._reported_length is not None and self._num_yielded > self._reported_length:
            self._warn_of_length()
        return batch

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def _warn_of_length(self) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._reported_length}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in which batches are fetched here."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetch = Fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        return self._fetch(next(self._sampler_iter))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass in which worker processes fetch: it hands out indices in turn, and puts the batches into that order.

    With persistent workers it begins again for each pass.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        prefetch = loader.prefetch_factor
        if prefetch is None or prefetch <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._persistent_workers = loader.persistent_workers
        self._in_order = loader.in_order
        self._most_tasks = prefetch * self._num_workers
        self._pool = WorkerPool(loader, self._base_seed)
        self._reset(loader)

    def _reset(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)  # the second time in a first pass, as in PyTorch
        self._num_yielded = 0
        self._reported_length = loader._IterableDataset_len_called
        self._pool.begin_pass()
        self._turns = itertools.cycle(range(self._num_workers))
        self._active = [True] * self._num_workers
        self._next_number = 0
        self._tasks: dict[int, int] = {}
        """The batches that were asked for and not yet given out, in order: which worker fetches each."""
        self._arrived: dict[int, Any] = {}
        for _ in range(self._most_tasks):
            self._ask()

    def _ask(self) -> None:
        index = next(self._sampler_iter, self)
        if index is self:
            return
        for worker in itertools.islice(self._turns, self._num_workers):
            if self._active[worker] and (self._in_order or self._is_free(worker)):
                break
        else:
            return
        self._tasks[self._next_number] = worker
        self._pool.send(worker, self._next_number, index)
        self._next_number += 1

    def _is_free(self, worker: int) -> bool:
        tasks = sum(owner == worker for owner in self._tasks.values())
        return tasks < self._most_tasks // sum(self._active)

    def _next_data(self) -> Any:
        while self._tasks:
            first = next(iter(self._tasks))
            if first in self._arrived:
                return self._give(first, self._arrived.pop(first))
            if not self._active[self._tasks[first]]:
                del self._tasks[first]
                continue
            number, batch = self._pool.receive(self._active)
            if isinstance(batch, Exhausted):
                worker = self._tasks.pop(number)
                if self._active[worker]:
                    self._active[worker] = False
                    self._ask()
            elif self._in_order:
                self._arrived[number] = batch
            else:
                return self._give(number, batch)
        if not self._persistent_workers:
            self._pool.close()
        raise StopIteration

    def _give(self, number: int, batch: Any) -> Any:
        del self._tasks[number]
        self._ask()
        if isinstance(batch, ExceptionWrapper):
            batch.reraise()
        return batch


def _warn_of_pinning(loader: DataLoader[Any]) -> None:
    if loader.pin_memory and loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    if loader.pin_memory and gpus.library() is None:
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
            "used.",
            stacklevel=5,
        )
