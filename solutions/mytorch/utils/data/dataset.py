"""Where samples come from: by index, or as a stream."""

# 18 · Data
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from ... import Tensor, randperm
from ...checks import refuse


class Dataset:
    """Samples by index: a subclass defines `__getitem__` and `__len__`."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


class IterableDataset(Dataset, Iterable[Any]):
    """Samples as they arrive: a subclass defines `__iter__`."""


class TensorDataset(Dataset):
    """The rows of tensors: sample i is a tuple with row i of each."""

    def __init__(self, *tensors: Tensor) -> None:
        refuse(len({each.shape[0] for each in tensors}) > 1, "Size mismatch between tensors", AssertionError)
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(each[index] for each in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class Subset(Dataset):
    """Some samples of a dataset: sample i is `dataset[indices[i]]`."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """The dataset in random parts of these lengths, or of these fractions, if they add up to 1."""
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = [math.floor(total * fraction) for fraction in lengths]
        for number in range(total - sum(counts)):  # what rounding left over
            counts[number % len(counts)] += 1
        lengths = counts
    refuse(sum(lengths) != total, "Sum of input lengths does not equal the length of the input dataset!", ValueError)
    order = iter(randperm(total, generator=generator).tolist())
    return [Subset(dataset, list(islice(order, int(length)))) for length in lengths]
