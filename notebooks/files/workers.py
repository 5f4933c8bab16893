"""Worker processes of a DataLoader, spawned and then forked. Chapter 18 runs this file.

    python workers.py          on minitorch
    python workers.py torch    on PyTorch, with the same text

Windows has no fork. There the lines of the second half are those that Linux printed, and a note says so.
"""

import importlib
import multiprocessing
import sys
import warnings
from functools import partial

import numpy as np

torch = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "minitorch")
data = torch.utils.data
scale = 1  # main() sets it to 100

ON_LINUX = """
fork: two workers fetch six samples, and one that isn't there
  worker 0: [0, 1], worker 1: [2, 3], worker 0: [4, 5]
  IndexError: Caught IndexError in DataLoader worker process 1.
  scale is 100 in the workers, and 100 here
  samples that the dataset counted here: 0
  first random numbers of 2 workers in 2 epochs, how many are different:
    a generator of the dataset's own: 1, np.random: 4, torch: 4
  a stream: [0, 0, 1, 1, 2, 2, 3, 3], divided by get_worker_info(): [10, 11, 12, 13]
  a lambda as collate_fn: runs
"""


class Numbers(data.Dataset):
    """Six samples. Each says who fetched it, and what this copy of the dataset sees."""

    def __init__(self):
        self.seen, self.generator = 0, np.random.default_rng(0)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index >= 6:
            raise IndexError(f"no sample {index}")
        self.seen += 1
        drawn = self.generator.random(), np.random.random(), torch.rand(1, dtype=torch.float64).item()
        return index, data.get_worker_info().id, scale, drawn


class Stream(data.IterableDataset):
    """0, 1, 2, 3 from every worker, and then each number of 10, 11, 12, 13 from one of them."""

    def __iter__(self):
        info = data.get_worker_info()
        yield from range(4)
        yield from range(10 + info.id, 14, info.num_workers)


def keep(batch):
    return batch


def epoch(loader):
    """The batches up to an error, and its first line."""
    batches = []
    try:
        for batch in loader:
            batches.append(batch)
    except IndexError as error:
        return batches, f"IndexError: {str(error).splitlines()[0]}"
    return batches, "no error"


def show(method):
    print(f"{method}: two workers fetch six samples, and one that isn't there")
    make = partial(data.DataLoader, num_workers=2, multiprocessing_context=method, collate_fn=keep)
    numbers = Numbers()
    (first, error), (second, _) = (epoch(make(numbers, batch_size=2, sampler=[*range(6), 99])) for _ in range(2))
    print("  " + ", ".join(f"worker {batch[0][1]}: {[index for index, *_ in batch]}" for batch in first))
    print(f"  {error}")
    print(f"  scale is {first[0][0][2]} in the workers, and {scale} here")
    print(f"  samples that the dataset counted here: {numbers.seen}")
    drawn = [batch[0][3] for batches in (first, second) for batch in batches[:2]]
    own, numpy, torchs = (len(set(each)) for each in zip(*drawn, strict=True))
    print("  first random numbers of 2 workers in 2 epochs, how many are different:")
    print(f"    a generator of the dataset's own: {own}, np.random: {numpy}, torch: {torchs}")
    stream = sorted(value for [value] in make(Stream()))
    print(f"  a stream: {stream[:8]}, divided by get_worker_info(): {stream[8:]}")
    try:
        next(iter(make(numbers, collate_fn=lambda batch: batch)))
        print("  a lambda as collate_fn: runs")
    except Exception:  # pickle's own error has another type in each version of Python
        print("  a lambda as collate_fn: can't be sent to a spawned process")


def main():
    global scale
    scale = 100
    warnings.simplefilter("ignore")  # of more workers than this machine has processors
    show("spawn")
    if "fork" in multiprocessing.get_all_start_methods():
        show("fork")
    else:
        print("No fork on this machine: these lines are what Linux printed.", file=sys.stderr)
        print(ON_LINUX.strip())


if __name__ == "__main__":
    main()
