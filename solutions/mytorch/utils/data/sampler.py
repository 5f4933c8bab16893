"""The order in which a dataset is visited: objects that give indices, or lists of them, in each pass."""

# 18 · Data
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

from ... import as_tensor, float64
from ...random import Generator, default_generator, multinomial, randint, randperm


def draw_seed(generator: Any) -> int:
    """A random number of 63 bits from a generator, or from the default one."""
    high, low = (generator or default_generator).words(2).tolist()
    return (high << 32 | low) & (2**63 - 1)


class SequentialSampler:
    """All indices in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler:
    """All indices in random order, or `num_samples` of them; with `replacement` each is drawn from all."""

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples
        if self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    def __iter__(self) -> Iterator[int]:
        """The indices of one pass."""
        generator = self.generator or Generator(draw_seed(None))
        count = len(self.data_source)
        if self.replacement:
            for start in range(0, self.num_samples, 32):
                size = min(32, self.num_samples - start)
                yield from randint(count, (size,), generator=generator).tolist()
        else:
            for start in range(0, self.num_samples + 1, count):
                yield from randperm(count, generator=generator).tolist()[: self.num_samples - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler:
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator).tolist()
        return (self.indices[place] for place in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler:
    """Indices drawn with these weights, whatever their sum."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        self.weights = as_tensor(weights, dtype=float64)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        return iter(multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self) -> int:
        return self.num_samples


def batched(indices: Iterable[Any], batch_size: int, drop_last: bool) -> Iterator[list[Any]]:
    """The indices in lists, each made when it is asked for."""
    rest = iter(indices)
    while batch := list(islice(rest, batch_size)):
        if len(batch) == batch_size or not drop_last:
            yield batch


class BatchSampler:
    """Lists of `batch_size` indices of another sampler; `drop_last` leaves out a last one that is shorter."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        return batched(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
