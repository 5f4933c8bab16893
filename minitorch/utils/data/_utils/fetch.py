"""How a batch is fetched, given what the sampler says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from minitorch.utils.data._utils.collate import default_collate
from minitorch.utils.data.dataset import IterableDataset, Rows, fetch_samples


class Fetcher:
    """Fetches and collates batches (or, without `batched`, converts single samples) of a dataset.

    Of an IterableDataset it takes the next samples, whatever the indices are, and raises StopIteration at the end.
    """

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate = collate
        self.drop_last = drop_last
        self.stream = iter(dataset) if isinstance(dataset, IterableDataset) else None
        self.ended = False

    def __call__(self, index: Any) -> Any:
        if self.stream is not None:
            return self.collate(self._next(index, self.stream))
        if not self.batched:
            return self.collate(self.dataset[index])
        samples = fetch_samples(self.dataset, index)
        if isinstance(samples, Rows) and self.collate is not default_collate:
            samples = list(samples)
        return self.collate(samples)

    def _next(self, index: Any, stream: Any) -> Any:
        if not self.batched:
            return next(stream)
        samples = [] if self.ended else list(itertools.islice(stream, len(index)))
        self.ended = len(samples) < len(index)
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return samples
