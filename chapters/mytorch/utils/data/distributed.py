"""The share of a dataset that one of several processes trains on."""

# 18 · Data
from __future__ import annotations

from collections.abc import Iterator, Sized

from ...random import Generator, randperm


class DistributedSampler:
    """Each process takes every `num_replicas`-th index of one order, the first at `rank`."""

    def __init__(
        self, dataset: Sized, num_replicas: int, rank: int, shuffle: bool = True, seed: int = 0, drop_last: bool = False
    ) -> None:
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.share())

    def share(self) -> list[int]:
        """The indices of this process in this epoch."""
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
        total = len(self) * self.num_replicas
        repeated = order * -(-total // max(count, 1))
        return repeated[self.rank : total : self.num_replicas]

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.num_replicas if self.drop_last else -(-count // self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next, so that it gets an order of its own."""
        self.epoch = epoch
