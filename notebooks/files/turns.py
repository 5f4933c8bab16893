"""Which worker of a DataLoader fetches which sample, and how far ahead. Chapter 18 runs this file.

    python turns.py          on minitorch
    python turns.py torch    on PyTorch, with the same text

It waits for events and never for a time, so that each run prints the same.
"""

import importlib
import multiprocessing
import sys
import warnings
from operator import length_hint

torch = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "minitorch")
data = torch.utils.data
SPAWN = multiprocessing.get_context("spawn")


class Slow(data.Dataset):
    """Eight samples. Sample 0 is slow: it is ready only after sample `awaited`. Each returns its rank and worker."""

    def __init__(self, awaited):
        self.awaited, self.arrived, self.finished = awaited, SPAWN.Event(), SPAWN.Value("i", 0)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 0 and not self.arrived.wait(60):
            raise TimeoutError(f"sample 0 waits for sample {self.awaited} in vain")
        with self.finished.get_lock():
            rank = self.finished.value = self.finished.value + 1
        if index == self.awaited:
            self.arrived.set()
        return index, rank, data.get_worker_info().id


def only(batch):
    return batch[0]


def show_turns(factor, in_order, awaited):
    loader = data.DataLoader(
        Slow(awaited),
        num_workers=2,
        prefetch_factor=factor,
        in_order=in_order,
        collate_fn=only,
        multiprocessing_context=SPAWN,
    )
    given = list(loader)
    last = next(rank for index, rank, _ in given if index == 0)
    before = [index for index, rank, _ in sorted(given, key=lambda sample: sample[1]) if rank < last]
    mine = {worker: sorted(index for index, _, owner in given if owner == worker) for worker in (0, 1)}
    print(f"prefetch_factor={factor}, in_order={in_order}")
    print(f"  worker 0 fetched {mine[0]}, worker 1 {mine[1]}")
    print(f"  finished before sample 0: {before}, given first: {given[0][0]}")


def show_ahead(workers, factor):
    tasks = iter([[index] for index in range(100)])
    loader = data.DataLoader(
        range(100),
        batch_sampler=tasks,
        num_workers=workers,
        prefetch_factor=factor,
        multiprocessing_context=SPAWN,
    )
    iterator = iter(loader)
    requested = 100 - length_hint(tasks)
    next(iterator)
    print(f"{workers} workers, prefetch_factor={factor}: {requested} batches requested", end="")
    print(f", after the first next() {100 - length_hint(tasks)}")


def main():
    warnings.simplefilter("ignore")  # of more workers than this machine has processors
    show_turns(2, True, awaited=3)
    show_turns(3, True, awaited=5)
    show_turns(2, False, awaited=7)
    show_ahead(4, 2)
    show_ahead(2, 3)


if __name__ == "__main__":
    main()
