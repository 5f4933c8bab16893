"""Where samples come from. Source: https://pytorch.org/docs/stable/data.html#dataset-types"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from minitorch.arrays import Array
from minitorch.kernels.sampling import randperm
from minitorch.random import Generator, default_generator
from minitorch.tensor import Tensor, make_tensor

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Samples by index: a subclass defines `__getitem__` and `__len__`.

    It may define `__getitems__(indices)` too, which gives the loader all samples of a batch at once. `a + b` is both,
    one after the other.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples in the order in which they arrive: a subclass defines `__iter__`.

    Every worker of a loader iterates over a copy of its own; `get_worker_info` tells them apart.
    """

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class Rows(Sequence[tuple[Tensor, ...]]):
    """A batch of samples that lies in tensors already, one for each part of a sample. Samples are cut out on demand."""

    def __init__(self, tensors: tuple[Tensor, ...], length: int) -> None:
        self.tensors = tensors
        self.length = length

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> tuple[Tensor, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Tensor, ...]]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(f"index {index} is out of range for {self.length} samples")
        return tuple(tensor[index] for tensor in self.tensors)


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors: sample i is `(tensors[0][i], tensors[1][i], …)`.

    Raises AssertionError for tensors of unequal lengths.
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getitems__(self, indices: Sequence[int]) -> Sequence[tuple[Tensor, ...]]:
        """The samples at the indices, taken with one indexing operation a tensor."""
        count = len(self.tensors[0]._array)
        at_once = (
            type(self).__getitem__ is TensorDataset.__getitem__
            and {*map(type, indices)} == {int}
            and -count <= min(indices) <= max(indices) < count
            and not any(tensor.requires_grad for tensor in self.tensors)
        )
        if not at_once:
            return [self[index] for index in indices]
        rows = np.asarray(indices)
        return Rows(tuple(_rows(tensor, rows) for tensor in self.tensors), len(indices))

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


def _rows(tensor: Tensor, rows: Array) -> Tensor:
    xp = tensor.device.xp
    return make_tensor(xp.take(tensor._elements, xp.asarray(rows), 0), tensor.dtype, tensor.device)


class StackDataset(Dataset[Any]):
    """Several datasets side by side: sample i is the tuple (or, for keyword arguments, the dict) of their samples i."""

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = {len(each) for each in self._parts()}  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def _parts(self) -> list[Dataset[Any]]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _joined(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._joined(each[index] for each in self._parts())

    def __getitems__(self, indices: list[int]) -> list[Any]:
        columns = []
        for dataset in self._parts():
            items = fetch_samples(dataset, indices)
            if len(items) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
            columns.append(items)
        return [self._joined(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other. Raises AssertionError for none, and for an IterableDataset."""

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        sizes: list[Any] = list(self.datasets)
        self.cumulative_sizes: list[int] = list(itertools.accumulate(map(len, sizes)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[number - 1] if number else 0
        return self.datasets[number][idx - start]


class ChainDataset(IterableDataset[T_co]):
    """Iterable datasets one after the other. Raises AssertionError, once it gets there, for one that isn't iterable."""

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield each

    def __iter__(self) -> Iterator[T_co]:
        return itertools.chain.from_iterable(self._checked())

    def __len__(self) -> int:
        return sum(len(each) for each in self._checked())


class Subset(Dataset[T_co]):
    """Some samples of a dataset: sample i is `dataset[indices[i]]`."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\ndef __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: Sequence[int]) -> Sequence[T_co]:
        return fetch_samples(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def fetch_samples(dataset: Any, indices: Sequence[int]) -> Sequence[Any]:
    """The samples at the indices: at once where the dataset can do that."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


def random_split(
    dataset: Dataset[T], lengths: Sequence[float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Splits a dataset at random into subsets of the given lengths, or fractions that add up to 1.

    What rounding leaves over goes to the first subsets, one sample each. Raises ValueError for other sums.
    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.random_split
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _counts(lengths, total)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = iter(randperm(total, generator or default_generator).tolist())
    return [Subset(dataset, list(itertools.islice(order, int(length)))) for length in lengths]


def _counts(fractions: Sequence[float], total: int) -> list[int]:
    for number, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {number} is not between 0 and 1")
    counts = [math.floor(total * fraction) for fraction in fractions]
    for number in range(total - sum(counts)):
        counts[number % len(counts)] += 1
    for number, count in enumerate(counts):
        if count == 0:
            warnings.warn(
                f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return counts
