"""The loader: batches of a dataset, pass by pass."""

# 18 · Data
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...checks import refuse
from .collate import default_collate
from .dataset import IterableDataset
from .prefetch import Prefetcher
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed


class DataLoader:
    """Batches of a dataset. With `num_workers` that many threads fetch `prefetch_factor` batches each ahead."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        *,
        drop_last: bool = False,
        generator: Any = None,
        prefetch_factor: int = 2,
    ) -> None:
        streams = isinstance(dataset, IterableDataset)
        check_options(streams, batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset, self.num_workers, self.prefetch_factor = dataset, num_workers, prefetch_factor
        self.collate_fn, self.generator = collate_fn or default_collate, generator
        self.fetch = self.collate_fn if streams else self.fetch_indices
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None:
            batch_sampler = BatchSampler(dataset if streams else sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler

    def fetch_indices(self, chosen: Sequence[int]) -> Any:
        """The batch of these samples."""
        return self.collate_fn([self.dataset[index] for index in chosen])

    def __iter__(self) -> Iterator[Any]:
        """A pass over the data."""
        batches = iter(self.batch_sampler)
        draw_seed(self.generator)  # PyTorch's workers are seeded with it, and it is drawn without workers too
        if self.num_workers == 0:
            return map(self.fetch, batches)
        return Prefetcher(self.fetch, batches, self.num_workers, self.prefetch_factor)

    def __len__(self) -> int:
        return len(self.batch_sampler)  # type: ignore[arg-type]


def check_options(
    streams: bool, batch_size: int, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Refuse options that exclude each other, in PyTorch's words."""
    if streams:
        for name, given in {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}.items():
            found = f"expected unspecified {name} option, but got {name}={given}"
            refuse(given, f"DataLoader with IterableDataset: {found}", ValueError)
    refuse(sampler is not None and shuffle, "sampler option is mutually exclusive with shuffle", ValueError)
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
