"""The part of a dataset that one of several processes trains on.

Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

from minitorch.kernels.sampling import randperm
from minitorch.random import Generator
from minitorch.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from the `rank`-th on, in an order that all processes shuffle alike.

    The order follows from `seed` and the epoch: call `set_epoch` before each, or all epochs have the same. To make the
    parts equally long, indices from the beginning are repeated at the end, or with `drop_last` the end is left out.
    Raises ValueError for a rank out of range, also where a number isn't given and there is no process group.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas: int = _distributed().get_world_size() if num_replicas is None else num_replicas
        self.rank: int = _distributed().get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.dataset = dataset
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // self.num_replicas if drop_last else math.ceil(count / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            indices = randperm(count, Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            indices = list(range(count))
        if not self.drop_last:
            indices *= math.ceil(self.total_size / max(count, 1))
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch comes next, for an order of its own."""
        self.epoch = epoch


def _distributed() -> Any:
    """The package, which loads when it is asked."""
    return importlib.import_module("minitorch.distributed")
