# %% [markdown]
# # Exercises · Data loading
# Three of the exercises add to your library, and once you have solved them, it shuffles, collates and prefetches with
# your code. These three run inside files of `mytorch`, where all names that a task or a docstring mentions are
# defined; import anything else in the cell itself.

# %% setup=true
from __future__ import annotations

import copy
import math
import queue
import random
import threading
import time
from collections import UserList, namedtuple
from operator import length_hint
from types import MappingProxyType

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn
from minitorch.utils import data
from minitorch.utils.data._utils import worker as worker_module

# %% [markdown] exercise="data_predict_shares" kind="predict" points=1
# ### Exercise 1 · Which samples does each process get?
# Two processes train on eleven samples, and this is process 1:
#
# ```python
# a = DistributedSampler(range(11), num_replicas=2, rank=1, shuffle=False)
# b = DistributedSampler(range(11), num_replicas=2, rank=1, shuffle=False, drop_last=True)
# loader_1 = DataLoader(range(11), batch_size=4, sampler=a)
# loader_2 = DataLoader(range(11), batch_size=4, sampler=b)
# loader_3 = DataLoader(range(11), batch_size=4, sampler=a, drop_last=True)
# ```
#
# Give three numbers for each loader: how many batches it has, how long the last batch is, and how many of the eleven
# samples the two processes see together in an epoch. (Process 0 has the same loaders, with `rank=0`.) Set
# `prediction` to a list of three lists.

# %% solution="data_predict_shares"
### BEGIN SOLUTION
prediction = [[2, 2, 11], [2, 1, 10], [1, 4, 8]]
### END SOLUTION

# %% check="data_predict_shares"
shown = {}
for number, answer in enumerate([*prediction][:3], 1):
    for name, value in zip(("batches", "length of the last", "samples seen"), [*answer], strict=False):
        shown[f"loader {number}: {name}"] = int(value)
check.show(shown, secret=True)

# %% [markdown] hint="data_predict_shares"
# First write down the indices of both processes, 0, 2, 4, … and 1, 3, 5, …

# %% [markdown] hint="data_predict_shares"
# All processes get equally many indices. The sampler repeats indices from the beginning, or, with its own
# `drop_last`, it drops the end.

# %% [markdown] hint="data_predict_shares"
# Sampler `a` gives six indices to each process (process 1 gets 1, 3, 5, 7, 9, 0), and sampler `b` gives five. The
# loader's own `drop_last` drops a batch with fewer than four samples, in each process.

# %% mutant="data_predict_shares"
# Unequal shares
# Process 1 gets six indices as well, because the sampler starts again with index 0 so that no process waits for
# another.
prediction = [[2, 1, 11], [2, 1, 10], [1, 4, 8]]

# %% mutant="data_predict_shares"
# The sampler drops batches
# The sampler doesn't deal in batches. Its `drop_last` drops one index, so that both processes have five.
prediction = [[2, 2, 11], [1, 4, 8], [1, 4, 8]]

# %% mutant="data_predict_shares"
# The other process sees what the loader drops
# Both processes drop their last batch, which has two indices each. One of these is the repeated 0, so three samples
# are never seen.
prediction = [[2, 2, 11], [2, 1, 10], [1, 4, 11]]


# %% [markdown] exercise="data_samplers" kind="core" points="1 1 1" part="mytorch.utils.data.sampler:RandomSampler.__iter__ mytorch.utils.data.sampler:batched mytorch.utils.data.distributed:DistributedSampler.share"
# ### Exercise 2 · Samplers
# A sampler decides which samples the loader visits. The same seed has to give PyTorch's order, so it matters which
# random numbers you draw, and from which generator.


# %% docstrings="data_samplers"
def __iter__():
    """Yields the indices of one pass, one by one.

    If `self.generator` is None, the pass creates its own generator, `Generator(draw_seed(None))`, when it
    begins. Let n be the length of `self.data_source`.

    Without `self.replacement`: whole permutations, `randperm(n, generator=...)`, one after the other, until
    `self.num_samples` indices have been yielded. Like PyTorch, draw one more permutation at the end, and
    yield as many of its indices as are still missing, which are none if `self.num_samples` is a multiple of
    n.

    With `self.replacement`: `randint(n, (32,), generator=...)` again and again. If fewer than 32 indices are
    still missing, the last call draws only that many.

    `tolist()` converts a tensor to Python integers.
    """


def batched():
    """Yields the indices in lists of `batch_size`, in order.

    The last list may be shorter; with `drop_last` such a list is dropped. Nothing is taken from `indices`
    before it is needed for the list that is requested. `islice(iterator, n)` takes at most n values from an
    iterator.
    """


def share():
    """The list of this process's indices in this epoch.

    The order is that of the dataset or, with `self.shuffle`, a permutation that is the same in each process:
    `randperm(n, generator=Generator(self.seed + self.epoch))`. Process `self.rank` takes every
    `self.num_replicas`-th index of it, beginning at position `self.rank`.

    `len(self)` is the number of indices that each process gets. With `self.drop_last` the end of the order is
    dropped; otherwise the order is repeated from its beginning until there are enough indices, several times
    if necessary.
    """


# %% check="data_samplers"
generator = check.rng()
count, seed = int(generator.integers(9, 11)), int(generator.integers(1000))
tools = mytorch.utils.data


def passes(own, *arguments, **options):
    """Two passes of a sampler, and what the generators draw next."""
    mytorch.manual_seed(seed)
    source = mytorch.Generator().manual_seed(seed + 1) if own else None
    sampler = tools.RandomSampler(range(count), *arguments, generator=source, **options)
    return [[*sampler], [*sampler], mytorch.rand(1), mytorch.rand(1, generator=source)]


def begun():
    """The first of twenty indices, or more, and what its generator draws next."""
    source = mytorch.Generator().manual_seed(seed + 1)
    first = next(iter(tools.RandomSampler(range(count), num_samples=20, generator=source)))
    return first, mytorch.rand(1, generator=source)


taken = []


def watched(length):
    for index in range(length):
        taken.append(index)
        yield index


first = next(iter(tools.BatchSampler(watched(9), 4, False)))


def shares(length, ranks, epoch=0, **options):
    samplers = [tools.DistributedSampler(range(length), ranks, rank, seed=seed, **options) for rank in range(ranks)]
    for each in samplers:
        each.set_epoch(epoch)
    return [list(each) for each in samplers]


check.show(
    {
        "samples, seed": [count, seed],
        "all, in random order": passes(False),
        "all, with a generator": passes(True),
        "fewer": passes(True, num_samples=3),
        "the first index, and the next number of the generator": begun(),
        "more than there are": passes(True, num_samples=2 * count + 3),
        "twice as many": passes(True, num_samples=2 * count),
        "with replacement": passes(False, True, num_samples=70),
        "with replacement, with a generator": passes(True, True, num_samples=70),
        "batches of 4": [*tools.BatchSampler(range(count + 4), 4, False)],
        "batches of 4, the rest dropped": [*tools.BatchSampler(range(count + 4), 4, True)],
        "8 samples in batches of 4": [[*tools.BatchSampler(range(8), 4, drop)] for drop in (False, True)],
        "the type of a short batch": type([*tools.BatchSampler(range(3), 2, False)][-1]).__name__,
        "no samples, in batches": [*tools.BatchSampler([], 4, False)],
        "taken for the first batch": [first, list(taken)],
        "shares, in order": shares(count, 3, shuffle=False),
        "shares, shuffled": shares(count + 1, 3),
        "shares, in epoch 4": shares(count + 1, 3, 4),
        "shares, the end dropped": shares(count + 1, 3, drop_last=True),
        "more processes than samples": shares(2, 5, shuffle=False),
        "processes without samples": [shares(0, 2, shuffle=False), shares(0, 2, drop_last=True)],
    },
    text="The orders of samplers, batches of indices, and the shares of several processes.",
)

# %% [markdown] hint="data_samplers"
# `yield from a_list` yields its values one by one. In `batched`, call `iter` once, and `islice` then continues where
# it stopped.

# %% [markdown] hint="data_samplers"
# For `RandomSampler`, let `start` run over `range(0, self.num_samples + 1, n)`. Each time, draw a permutation and
# yield its `[: self.num_samples - start]`. For `batched`, use `while batch := list(islice(rest, batch_size)):`.

# %% [markdown] hint="data_samplers"
# For `share`, `total = len(self) * self.num_replicas` is the number of indices for all processes together. Repeat the
# order as often as `total` requires; then `repeated[self.rank : total : self.num_replicas]` does the rest, with and
# without dropping.


# %% mutant="data_samplers"
# Draws from the default generator
# If the sampler has no generator, the pass makes one from a single drawn seed, whereas here it takes the whole order
# from the default stream.
def __iter__(self):
    count = len(self.data_source)
    if self.replacement:
        for start in range(0, self.num_samples, 32):
            yield from randint(count, (min(32, self.num_samples - start),), generator=self.generator).tolist()
    else:
        for start in range(0, self.num_samples + 1, count):
            yield from randperm(count, generator=self.generator).tolist()[: self.num_samples - start]


# %% mutant="data_samplers"
# One permutation too few
# The indices are correct, but PyTorch draws one more permutation when `num_samples` is a multiple of n, so anything
# else that uses the generator gets different numbers.
def __iter__(self):
    generator = self.generator or Generator(draw_seed(None))
    count = len(self.data_source)
    if self.replacement:
        for start in range(0, self.num_samples, 32):
            yield from randint(count, (min(32, self.num_samples - start),), generator=generator).tolist()
    else:
        for start in range(0, self.num_samples, count):
            yield from randperm(count, generator=generator).tolist()[: self.num_samples - start]


# %% mutant="data_samplers"
# A single permutation
# If more samples are requested than the dataset has, the pass continues with another permutation.
def __iter__(self):
    generator = self.generator or Generator(draw_seed(None))
    count = len(self.data_source)
    if self.replacement:
        for start in range(0, self.num_samples, 32):
            yield from randint(count, (min(32, self.num_samples - start),), generator=generator).tolist()
    else:
        yield from randperm(count, generator=generator).tolist()[: self.num_samples]


# %% mutant="data_samplers"
# Draws 32 even if fewer are missing
# The indices are correct, but the generator's stream has advanced too far.
def __iter__(self):
    generator = self.generator or Generator(draw_seed(None))
    count = len(self.data_source)
    if self.replacement:
        for start in range(0, self.num_samples, 32):
            yield from randint(count, (32,), generator=generator).tolist()[: self.num_samples - start]
    else:
        for start in range(0, self.num_samples + 1, count):
            yield from randperm(count, generator=generator).tolist()[: self.num_samples - start]


# %% mutant="data_samplers"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def __iter__(self):
    from minitorch.utils.data import RandomSampler

    return iter(RandomSampler(self.data_source, self.replacement, self.num_samples, self.generator))


# %% mutant="data_samplers"
# Keeps the short list
# `drop_last` drops a last list that is shorter than the others.
def batched(indices, batch_size, drop_last):
    rest = iter(indices)
    while batch := list(islice(rest, batch_size)):
        yield batch


# %% mutant="data_samplers"
# Drops the last list, whatever its length
# A last list that is full is kept, with `drop_last` as well.
def batched(indices, batch_size, drop_last):
    everything = list(indices)
    lists = [everything[start : start + batch_size] for start in range(0, len(everything), batch_size)]
    yield from lists[:-1] if drop_last else lists


# %% mutant="data_samplers"
# Takes everything first
# A stream may be endless, and a prefetcher requests one batch at a time. Take only the values that the requested list
# needs.
def batched(indices, batch_size, drop_last):
    everything = list(indices)
    for start in range(0, len(everything), batch_size):
        batch = everything[start : start + batch_size]
        if len(batch) == batch_size or not drop_last:
            yield batch


# %% mutant="data_samplers"
# Contiguous blocks
# PyTorch gives each process every n-th index, not a contiguous block.
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    repeated = order * -(-len(self) * self.num_replicas // max(count, 1))
    return repeated[self.rank * len(self) : (self.rank + 1) * len(self)]


# %% mutant="data_samplers"
# The same order in each epoch
# The epoch is part of the seed. Otherwise `set_epoch` has no effect.
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed)).tolist()
    total = len(self) * self.num_replicas
    repeated = order * -(-total // max(count, 1))
    return repeated[self.rank : total : self.num_replicas]


# %% mutant="data_samplers"
# Shuffles differently in each process
# With the rank in the seed the orders differ, so some samples go to two processes and others to none.
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch + self.rank)).tolist()
    total = len(self) * self.num_replicas
    repeated = order * -(-total // max(count, 1))
    return repeated[self.rank : total : self.num_replicas]


# %% mutant="data_samplers"
# Unequal shares
# All processes get `len(self)` indices. If a process had fewer, it would leave the others waiting.
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    if self.drop_last:
        order = order[: len(self) * self.num_replicas]
    return order[self.rank :: self.num_replicas]


# %% mutant="data_samplers"
# Repeats the order once
# If there are more processes than samples, repeating the order once isn't enough.
def share(self):
    count = len(self.dataset)
    order = list(range(count))
    if self.shuffle:
        order = randperm(count, generator=Generator(self.seed + self.epoch)).tolist()
    total = len(self) * self.num_replicas
    return (order + order)[self.rank : total : self.num_replicas]


# %% [markdown] exercise="data_collate" kind="core" points="2 1" part="mytorch.utils.data.collate:default_collate mytorch.utils.data.collate:collate_leaves"
# ### Exercise 3 · From samples to a batch
# A batch has the structure of a sample: if the samples are dicts with a tuple of a tensor and a string, the batch is
# a dict with a list of a tensor and some strings. Write the function that descends this structure, and the function
# that collates the values at its leaves.


# %% docstrings="data_collate"
def default_collate():
    """A batch with the structure of its samples, which all resemble the first one.

    - A `Mapping` gives a dict with the first sample's keys. The values of each key are collated.
    - A `Sequence` other than `str` or `bytes` gives a list in which the first parts, the second parts, ...
      are collated, each passed as a tuple. A named tuple, which has the attribute `_fields`, gives a named
      tuple of the same type.
    - Everything else is passed to `collate_leaves(batch)`.

    Raises:
        RuntimeError: "each element in list of batch should be of equal size", for sequences of several lengths.
    """


def collate_leaves():
    """A batch of values that have no parts.

    - Strings and bytes: the batch as it is.
    - Tensors: stacked. NumPy arrays: converted by `as_tensor` and stacked, except arrays of strings or
      objects (whose `dtype.kind` is in "SUO").
    - Numbers (int, float, bool, `np.number`, `np.bool_`): one tensor, of dtype float64 if the first is a
      Python float.

    Raises:
        TypeError: "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists;
            found {}" with the type of the first value, or the dtype of an array that isn't accepted.
    """


# %% check="data_collate" raises="KeyError RuntimeError TypeError"
generator = check.rng()
collate = mytorch.utils.data.default_collate
Point = namedtuple("Point", ["x", "label"])
values = generator.integers(1, 99, size=generator.integers((2, 3), (5, 7))).tolist()
tensors = [mytorch.tensor(row) for row in values]
kinds = [str(each) for each in generator.choice(["dict", "tuple", "list"], 4)]


def nested(kinds, leaf):
    """A sample in which these structures are nested."""
    if not kinds:
        return leaf
    inner = nested(kinds[1:], leaf)
    return {"dict": {"a": inner}, "tuple": (inner, 0.5), "list": [inner]}[kinds[0]]


def shown(batch):
    result = collate(batch)
    return [type(result).__name__, result]


check.show(
    {
        "values": values,
        "tensors": shown(tensors),
        "0-d tensors": shown([each[0] for each in tensors]),
        "arrays": shown([np.array(row, np.float32) for row in values]),
        "integers": shown(values[0]),
        "floats": shown([each / 2 for each in values[0]]),
        "booleans": shown([True, False, True]),
        "an integer, then a float": shown([values[0][0], 0.5]),
        "NumPy numbers": shown([np.float32(each) for each in values[0]]),
        "NumPy booleans": shown([np.bool_(True), np.bool_(False)]),
        "NumPy numbers of float64": shown([np.float64(each) for each in values[0]]),
        "strings": shown(["a", "b"]),
        "empty lists": shown([[], []]),
        "a sequence of another type": shown([UserList(row[:2]) for row in values]),
        "the order of the keys": list(collate([{"b": 1, "a": 2}, {"a": 3, "b": 4}])),
        "gradients reach the tensors": collate([mytorch.ones(2, requires_grad=True)]).requires_grad,
        "bytes": repr(collate([b"a", b"b"])),
        "tuples": shown([(values[0][0], "a"), (values[1][0], "b")]),
        "lists": shown([row[:2] for row in values]),
        "ranges": shown([range(2), range(2, 4)]),
        "dicts": shown([{"a": row[0], "b": row[1] / 2} for row in values]),
        "mappings other than dicts": shown([MappingProxyType({"a": each}) for each in values[0]]),
        "a batch of one": shown([{"a": (tensors[0], values[0][0]), "b": "c"}]),
        "a key that only the second sample has": shown([{"a": 1}, {"a": 2, "b": 3}]),
        "named tuples": shown([Point(row[0], "x") for row in values]),
        "dicts of tuples of dicts": shown([{"a": ({"b": row[0]}, row[1:])} for row in values]),
        f"{', '.join(kinds)}, nested": shown([nested(kinds, each) for each in tensors]),
        "strings in tuples": shown([("a", ("b", "c")), ("d", ("e", "f"))]),
        "strings in tuples, written out": repr(collate([("a", "b"), ("c", "d")])),
        "lists of two lengths": check.error(collate, [values[0], values[1][:2]]),
        "two lists, the second is longer": check.error(collate, [values[0][:2], values[1]]),
        "three lists, the second is shorter": check.error(collate, [values[0], values[1][:2], values[0]]),
        "tensors of two lengths": check.error(collate, [tensors[0], tensors[1][:2]]),
        "a set": check.error(collate, [{1}, {2}]),
        "None": check.error(collate, [None, None]),
        "arrays of strings": check.error(collate, [np.array(["a"]), np.array(["b"])]),
        "arrays of bytes": check.error(collate, [np.array([b"a"]), np.array([b"b"])]),
        "arrays of objects": check.error(collate, [np.array([None]), np.array([None])]),
        "a missing key": check.error(collate, [{"a": 1}, {"b": 1}]),
    },
    text="The type of each batch, and the batch.",
)

# %% [markdown] hint="data_collate"
# Look at `batch[0]` alone to decide what the samples are. Note that a string is a `Sequence` too, of strings that are
# sequences of strings, and so on.

# %% [markdown] hint="data_collate"
# `zip(*batch)` turns two samples of three parts into three tuples of two values. For a dict, use `[each[key] for each
# in batch]`.

# %% [markdown] hint="data_collate"
# In `collate_leaves`, `np.float64` is a Python float as well, so `tensor(batch, dtype=float64 if isinstance(first,
# float) else None)` is correct for all numbers. You can create a named tuple with `type(first)(*parts)`.


# %% mutant="data_collate"
# Descends into strings
# A string is a sequence of strings, which are sequences of strings themselves, so the recursion goes on until Python
# stops it.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% mutant="data_collate"
# Truncates to the shortest
# `zip` stops at the shortest sample without an error, whereas sequences of different lengths must raise one.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    parts = [default_collate(column) for column in zip(*batch, strict=False)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% mutant="data_collate"
# Compares the first and the last
# Each sample has to be as long as the first one, not only the last.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if len(batch[-1]) != len(first):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=False)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% mutant="data_collate"
# Tuples stay tuples
# PyTorch returns a list for a tuple, and a named tuple only for a named tuple.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


# %% mutant="data_collate"
# Named tuples become lists
# Code that uses `batch.x` expects to go on using it, so a named tuple stays a named tuple.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return [default_collate(column) for column in zip(*batch, strict=True)]


# %% mutant="data_collate"
# One level deep
# The parts of a sample may have parts of their own, so call `default_collate` for them, not `collate_leaves`.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: collate_leaves([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [collate_leaves(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% mutant="data_collate"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def default_collate(batch):
    from minitorch.utils import data

    return data.default_collate(batch)


# %% mutant="data_collate"
# Floats of the default dtype
# That would be convenient, but PyTorch converts Python floats to float64.
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% mutant="data_collate"
# Passes unknown types through
# A batch of `None` fails much later in the training loop, with an error about something else. Reject it here.
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    return batch


# %% mutant="data_collate"
# Concatenates tensors
# A batch has a new first dimension, so use `stack`, not `cat`.
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch)).reshape(-1)
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch]).reshape(-1)
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% mutant="data_collate"
# Handles lists, tuples and dicts only
# A range is a `Sequence` as well, and a read-only mapping is a `Mapping`. Test for these two abstract classes.
def default_collate(batch):
    first = batch[0]
    if isinstance(first, dict):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if not isinstance(first, (list, tuple)):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


# %% mutant="data_collate"
# Looks for a float in any position
# The first value decides: only if it is a Python float is the tensor float64.
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if any(isinstance(each, float) for each in batch) else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% mutant="data_collate"
# Forgets NumPy's booleans
# `np.bool_` is neither an `np.number` nor a Python `bool`, so it has to be listed separately.
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% mutant="data_collate"
# Accepts arrays of objects
# Such an array holds references to Python objects. It can't become a tensor, and the error should name the dtype that
# was found.
def collate_leaves(batch):
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SU":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


# %% [markdown] exercise="data_prefetch" kind="core" points="1 1 1" part="mytorch.utils.data.prefetch:work mytorch.utils.data.prefetch:Prefetcher._ask mytorch.utils.data.prefetch:Prefetcher.__next__"
# ### Exercise 4 · Loading ahead
# The lesson shows the rest of the `Prefetcher`. Its threads run `work`, `_ask` hands out one more task, and
# `__next__` returns the batches in order, whatever the order in which they arrive.


# %% docstrings="data_prefetch"
def work():
    """The loop that a thread runs until it takes `STOP` from `tasks`.

    A task is a pair (number, chosen). Put (number, fetch(chosen), None) into `results`. If `fetch` raises an
    `Exception`, put (number, None, error) instead, and continue with the next task. A queue has `get()`,
    which waits for a value, and `put(value)`.
    """


def _ask():
    """Takes the next value from `self.batches`, if there is one, and puts (number, value) into `self.tasks`.

    The number is `self.asked`, which counts the tasks so far.
    """


def __next__():
    """The batch with the number `self.given`, which counts the batches returned so far.

    `self._receive()` waits for one result and stores it: `self.arrived[number]` is the pair (batch, error).
    Remove the result from `arrived` and hand out another task before you return the batch or raise its error.

    If every task that was handed out has been returned, call `self.close()` and raise StopIteration.
    """


# %% check="data_prefetch"
generator = check.rng()
count, slow = 9, int(generator.integers(0, 3))
broken = 4  # when its error arrives, some tasks have not been handed out yet
numbers = [int(each) for each in generator.integers(11, 99, count)]


class BrokenError(Exception):
    """The error that the broken sample raises."""

    where = "nowhere"


class Interrupt(BaseException):
    """Isn't an `Exception`, so nothing catches it."""


def interrupted():
    """Which error leaves the loop of a thread, and how many results there are then."""
    tasks, results = queue.Queue(), queue.Queue()
    tasks.put((0, [Interrupt()]))
    tasks.put(mytorch.utils.data.prefetch.STOP)

    def fetch(chosen):
        raise chosen[0]

    try:
        mytorch.utils.data.prefetch.work(fetch, tasks, results)
    except Interrupt:
        return "it ends the thread", results.qsize()
    return "caught", results.qsize()


class Samples(list):
    """With `waits`, sample `slow` is ready only after sample 3, which another thread must load; sample
    `broken` raises."""

    def __init__(self, waits):
        super().__init__(range(count))
        self.waits, self.may_go = waits, threading.Event()

    def __getitem__(self, index):
        if index == slow and self.waits:
            self.may_go.wait(10)
        if index == broken:
            error = BrokenError(f"sample {index} is broken")
            error.where = index
            raise error
        if index == 3:
            self.may_go.set()
        return numbers[index] * numbers[index - 1]


def patiently(call):
    """The result of a call, or a remark if it takes longer than five seconds, after which nothing else is called."""
    if "still waiting" in shown.values():
        return "not tried"
    found = ["still waiting"]

    def run():
        try:
            found[0] = call()
        except Exception as error:
            found[0] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(5)
    return found[0]


def one(iterator):
    try:
        return next(iterator).item()
    except StopIteration:
        return "the end"
    except BrokenError as error:
        return f"{error}: {error.where}"


def load(workers, factor):
    """What each next() returns, how many tasks have been handed out by then, and how many threads stay alive."""
    tasks = iter([[index] for index in range(count)])
    options = {"num_workers": workers, "prefetch_factor": factor}
    iterator = iter(mytorch.utils.data.DataLoader(Samples(waits=workers > 1), batch_sampler=tasks, **options))
    rows = [("before", count - length_hint(tasks))]
    for _ in range(count + 2):
        rows.append((one(iterator), count - length_hint(tasks)))
    deadline = time.monotonic() + 2
    for thread in iterator.threads:
        thread.join(max(0, deadline - time.monotonic()))
    return [*rows, ("threads alive", sum(thread.is_alive() for thread in iterator.threads))]


def held():
    iterator = iter(mytorch.utils.data.DataLoader(range(7), batch_size=2, num_workers=3))
    return [*iterator, "still held:", len(iterator.arrived)]


shown = {"slow, broken": [slow, broken]}
shown["two threads, two batches each"] = patiently(lambda: load(2, 2))
shown["one thread"] = patiently(lambda: load(1, 3))
shown["nothing to load"] = patiently(lambda: list(mytorch.utils.data.DataLoader([], num_workers=2)))
prefetch = mytorch.utils.data.prefetch
shown["what isn't a list of indices"] = patiently(
    lambda: list(prefetch.Prefetcher(lambda chosen: chosen, [0, 3, None, "", 5], 2, 1))
)
shown["seven samples, by two"] = patiently(held)
shown["an interrupt"] = patiently(interrupted)
check.show(shown, text="What each next() returns, and how many tasks had been handed out by then.")

# %% [markdown] hint="data_prefetch"
# `next(self.batches, STOP)` can't distinguish a missing value from a value, whereas `for chosen in self.batches: ...;
# return` can.

# %% [markdown] hint="data_prefetch"
# `work` is a loop, `while (task := tasks.get()) is not STOP`, with a `try` inside it, so that an error doesn't end
# the loop.

# %% [markdown] hint="data_prefetch"
# `__next__` stops if `self.given == self.asked`. Otherwise it calls `self._receive()` while `self.given not in
# self.arrived`, pops the result, counts it, hands out another task, and only then raises the error or returns the
# batch.


# %% mutant="data_prefetch"
# An error ends the thread
# The thread has ended, and the caller learns only that a worker ended. Catch the exception and pass it on.
def work(fetch, tasks, results):
    while (task := tasks.get()) is not STOP:
        number, chosen = task
        results.put((number, fetch(chosen), None))


# %% mutant="data_prefetch"
# Swallows the error
# The error is lost, and the caller waits for this batch forever. Put the error into the results instead.
def work(fetch, tasks, results):
    while (task := tasks.get()) is not STOP:
        number, chosen = task
        try:
            results.put((number, fetch(chosen), None))
        except Exception:
            continue


# %% mutant="data_prefetch"
# Gives up after an error
# One broken sample must not end the thread, because the tasks after it would never be done.
def work(fetch, tasks, results):
    while (task := tasks.get()) is not STOP:
        number, chosen = task
        try:
            results.put((number, fetch(chosen), None))
        except Exception as error:
            results.put((number, None, error))
            return


# %% mutant="data_prefetch"
# Hands out all tasks
# An unlimited queue loads the whole dataset into memory. One call hands out one task.
def _ask(self):
    for chosen in self.batches:
        self.tasks.put((self.asked, chosen))
        self.asked += 1


# %% mutant="data_prefetch"
# Numbers from one
# The first batch that is returned has the number 0.
def _ask(self):
    for chosen in self.batches:
        self.asked += 1
        self.tasks.put((self.asked, chosen))
        return


# %% mutant="data_prefetch"
# Hands out a task without a value
# At the end there is no next value and so no task to hand out. A task without a value only produces an error.
def _ask(self):
    self.tasks.put((self.asked, next(self.batches, None)))
    self.asked += 1


# %% mutant="data_prefetch"
# In order of arrival
# The first result to arrive is returned first, so the order depends on the threads. Wait for the number whose turn it
# is.
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    if not self.arrived:
        self._receive()
    batch, error = self.arrived.pop(next(iter(self.arrived)))
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% mutant="data_prefetch"
# Doesn't hand out another task
# No tasks follow the first ones, so the pass ends too early.
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    if error is not None:
        raise error
    return batch


# %% mutant="data_prefetch"
# Raises before it hands out a task
# After an error, one batch fewer is loaded ahead. Hand out the next task first, and then raise.
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    if error is not None:
        raise error
    self._ask()
    return batch


# %% mutant="data_prefetch"
# Leaves the threads running
# At the end of the pass the threads wait for tasks that never arrive. `close` ends them.
def __next__(self):
    if self.given == self.asked:
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived.pop(self.given)
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% mutant="data_prefetch"
# Keeps every batch
# A result must leave `arrived` when it is returned. Otherwise the whole dataset stays in memory.
def __next__(self):
    if self.given == self.asked:
        self.close()
        raise StopIteration
    while self.given not in self.arrived:
        self._receive()
    batch, error = self.arrived[self.given]
    self.given += 1
    self._ask()
    if error is not None:
        raise error
    return batch


# %% [markdown] exercise="data_pack" kind="build" points=3
# ### Exercise 5 · Pack sequences
# `pack(documents, length)` puts lists of tokens into rows of `length` positions. In the given order, each document
# goes into the first row that has room for all of it, after the tokens that are already there. If no row has room, it
# opens a new one. Return three tensors:
#
# - `tokens`, int64, (rows, length), with 0 in the free positions, which is a token like the others elsewhere;
# - `positions`, int64, (rows, length): a token's position in its own document, counted from 0. The free positions at
#   the end of a row are counted from 0 as well;
# - `mask`, bool, (rows, length, length): `mask[r, i, j]` is True if position `i` may attend to position `j`, that is,
#   if both belong to the same document and `j` isn't after `i`. The free positions of a row form a document of their
#   own, so that every position has something to attend to.
#
# There is at least one document, and none is empty or longer than a row.


# %% solution="data_pack"
def pack(documents: list[list[int]], length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ### BEGIN SOLUTION
    rows: list[list[list[int]]] = []
    for document in documents:
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                row.append(document)
                break
        else:
            rows.append([document])
    tokens, positions, owners = [], [], []
    for row in rows:
        full = [*row, [0] * (length - sum(map(len, row)))]
        tokens.append([token for document in full for token in document])
        positions.append([place for document in full for place in range(len(document))])
        owners.append([number for number, document in enumerate(full) for _ in document])
    owner = torch.tensor(owners)
    same = owner[:, :, None] == owner[:, None, :]
    return torch.tensor(tokens), torch.tensor(positions), same.tril()
    ### END SOLUTION


# %% check="data_pack"
generator = check.rng()
torch.manual_seed(check.seed())
sizes = [5, 6, 3, 1, *generator.permutation([3, 4])]
documents = [generator.integers(0, 50, size=size).tolist() for size in sizes]
documents[-1][-1] = 0  # a token like the others
length = 8
tokens, positions, mask = pack(documents, length)
table = torch.randn(50, 4)
places = torch.randn(length, 4)


def attend(tokens, positions, mask):
    x = table[tokens] + places[positions]
    return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


packed = attend(tokens, positions, mask)
last = documents[-1]
alone = attend(torch.tensor([last]), torch.arange(len(last))[None], torch.ones(1, len(last), len(last)).tril().bool())
exact = pack([[7] * length, [8] * length], length)
# In both, the third document fits into both rows: it fills up the second, or leaves less room in the first.
choices = [
    pack([[number + 1] * size for number, size in enumerate(each)], length)[0] for each in ([5, 6, 2], [6, 5, 2])
]
check.show(
    {
        "documents": documents,
        "tokens": tokens,
        "positions": positions,
        "mask": mask.int(),
        "dtypes": [tokens.dtype, positions.dtype, mask.dtype],
        "positions that attend to nothing": int((~mask.any(-1)).sum()),
        "5, 6 and 2 tokens, then 6, 5 and 2": choices,
        "rows filled exactly": [exact[0], exact[1], exact[2].sum((1, 2))],
        "three equal documents": [each.int() for each in pack([[7, 7]] * 3, 7)],
        "one short document": [each.int() for each in pack([[5]], 3)],
        "rows of one position": [each.int() for each in pack([[5], [7]], 1)],
        "attention in the packed rows": packed,
        "the last document alone": alone,
    },
    text=f"Rows of {length} positions, and the attention over them.",
)

# %% [markdown] hint="data_pack"
# First decide which documents go into which row, as lists of documents. A `for … else` loop runs its `else` if no row
# had room.

# %% [markdown] hint="data_pack"
# Add a row's free positions as one more document of zeros. Then tokens, positions and masks need no special case.

# %% [markdown] hint="data_pack"
# Label each position with the number of its document. `owner[:, :, None] == owner[:, None, :]` says which positions
# belong together, and `.tril()` keeps those that don't come later.


# %% mutant="data_pack"
# Positions continue across documents
# A document's first token is at position 0, wherever it is in the row. Otherwise it looks like the continuation of
# the document before it.
def pack(documents, length):
    rows = []
    for document in documents:
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                row.append(document)
                break
        else:
            rows.append([document])
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([[token for document in row for token in document] for row in full])
    owner = torch.tensor([[number for number, document in enumerate(row) for _ in document] for row in full])
    same = owner[:, :, None] == owner[:, None, :]
    return tokens, torch.arange(length).repeat(len(rows), 1), same.tril()


# %% mutant="data_pack"
# Only a causal mask
# The second document of a row attends to the first one, but the mask has to end where a document ends.
def pack(documents, length):
    rows = []
    for document in documents:
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                row.append(document)
                break
        else:
            rows.append([document])
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([[token for document in row for token in document] for row in full])
    positions = torch.tensor([[place for document in row for place in range(len(document))] for row in full])
    return tokens, positions, torch.ones(len(rows), length, length).tril().bool()


# %% mutant="data_pack"
# Attends to the future
# A token may attend to its own document, but not to the tokens that come after it.
def pack(documents, length):
    rows = []
    for document in documents:
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                row.append(document)
                break
        else:
            rows.append([document])
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([[token for document in row for token in document] for row in full])
    positions = torch.tensor([[place for document in row for place in range(len(document))] for row in full])
    owner = torch.tensor([[number for number, document in enumerate(row) for _ in document] for row in full])
    return tokens, positions, owner[:, :, None] == owner[:, None, :]


# %% mutant="data_pack"
# Considers only the last row
# A short document may fit into an earlier row. It goes into the first row that has room.
def pack(documents, length):
    rows = []
    for document in documents:
        if rows and sum(map(len, rows[-1])) + len(document) <= length:
            rows[-1].append(document)
        else:
            rows.append([document])
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([[token for document in row for token in document] for row in full])
    positions = torch.tensor([[place for document in row for place in range(len(document))] for row in full])
    owner = torch.tensor([[number for number, document in enumerate(row) for _ in document] for row in full])
    return tokens, positions, (owner[:, :, None] == owner[:, None, :]).tril()


# %% mutant="data_pack"
# Free positions attend to nothing
# Softmax over a row without a True is nan, which spreads. Free positions may attend to one another.
def pack(documents, length):
    rows = []
    for document in documents:
        for row in rows:
            if sum(map(len, row)) + len(document) <= length:
                row.append(document)
                break
        else:
            rows.append([document])
    full = [[*row, [0] * (length - sum(map(len, row)))] for row in rows]
    tokens = torch.tensor([[token for document in row for token in document] for row in full])
    positions = torch.tensor([[place for document in row for place in range(len(document))] for row in full])
    owner = torch.tensor([[number for number, document in enumerate(row) for _ in document] for row in full])
    same = (owner[:, :, None] == owner[:, None, :]).tril()
    return tokens, positions, same & (tokens != 0)[:, :, None]


# %% [markdown] exercise="data_repair_augmentation" kind="repair" points=3
# ### Exercise 6 · The augmentation that repeats itself
# `Shifted` moves each image sideways by a random number of pixels. A colleague who trains with two workers finds that
# the model overfits as if there were no augmentation. These are the shifts in three epochs, batch by batch:
#
# ```text
# epoch 0   worker 0: 351 137 12    worker 1: 351 137 12
# epoch 1   worker 0: 351 137 12    worker 1: 351 137 12
# epoch 2   worker 0: 351 137 12    worker 1: 351 137 12
# ```
#
# Fix the class. The shifts must differ between samples, workers and epochs, also without workers, and also if a
# sample was accessed before training. The same `torch.manual_seed` before training must still reproduce a run, and
# another seed must give a different one. `run` in the setup does what a `DataLoader` does.


# %% setup=true
def run(dataset, workers, epochs, seed):
    """The shifts that a DataLoader's workers draw: a list for each epoch, with a list for each worker.

    In each epoch, the main process draws a base seed. A worker gets a copy of the dataset, and `random`,
    `np.random` and `torch` are seeded with base seed + number in it. `get_worker_info()` tells which worker
    it is. Without workers the main process loads the samples.
    """
    torch.manual_seed(seed)
    drawn = []
    for _ in range(epochs):
        base_seed = int(torch.randint(0, 2**62, ()).item())
        if workers == 0:
            drawn.append([[dataset[index] for index in range(len(dataset))]])
            continue
        main, shifts = (torch.get_rng_state(), random.getstate(), np.random.get_state()), []
        for number in range(workers):
            mine = copy.deepcopy(dataset)
            worker_module._info = worker_module.WorkerInfo(number, workers, base_seed + number, mine)
            torch.manual_seed(base_seed + number)
            random.seed(base_seed + number)
            np.random.seed((base_seed + number) % 2**32)
            shifts.append([mine[index] for index in range(number, len(mine), workers)])
        worker_module._info = None
        torch.set_rng_state(main[0])
        random.setstate(main[1])
        np.random.set_state(main[2])
        drawn.append(shifts)
    return drawn


# %% solution="data_repair_augmentation"
class Shifted(data.Dataset):
    """A dataset whose samples are only the shifts: random integers from 0 to 999,999,999."""

    ### BEGIN SOLUTION
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(torch.randint(10**9, ()).item())

    ### END SOLUTION
    ### BEGIN STUB
    # def __init__(self, count):
    #     self.count, self.generator = count, np.random.default_rng(0)
    #
    # def __getitem__(self, index):
    #     return int(self.generator.integers(0, 10**9))
    #
    ### END STUB
    def __len__(self):
        return self.count


# %% check="data_repair_augmentation"
seed, generator = check.seed() % 1000, check.rng()
count, workers, epochs = (int(generator.integers(low, high)) for low, high in ((7, 40), (2, 5), (3, 8)))
first, again, other = (run(Shifted(count), workers, epochs, each) for each in (seed, seed, seed + 1))
alone, alone_again, alone_other = (run(Shifted(count), 0, epochs, each) for each in (seed, seed, seed + 1))
looked_at = Shifted(count)
looked_at[0]
later = run(looked_at, workers, epochs, seed)


def flat(drawn):
    return [shift for epoch in drawn for worker in epoch for shift in worker]


def different(lists):
    return len({tuple(each) for each in lists})


check.show(
    {
        "shifts are integers in their range": all(0 <= each < 10**9 and type(each) is int for each in flat(first)),
        "samples, workers, epochs": [count, workers, epochs],
        "different shifts": len(set(flat(first))),
        "different workers in epoch 0": different(first[0]),
        "different epochs": different(flat([epoch]) for epoch in first),
        "different samples of the first worker": len(set(first[0][0])),
        "without workers, different shifts": len(set(flat(alone))),
        "without workers, different epochs": different(flat([epoch]) for epoch in alone),
        "shifts that the same seed repeats": sum(a == b for a, b in zip(flat(first), flat(again), strict=True)),
        "the same, without workers": sum(a == b for a, b in zip(flat(alone), flat(alone_again), strict=True)),
        "shifts that another seed repeats": sum(a == b for a, b in zip(flat(first), flat(other), strict=True)),
        "the same, with another seed and without workers": sum(
            a == b for a, b in zip(flat(alone), flat(alone_other), strict=True)
        ),
        "different shifts, after an access to sample 0": len(set(flat(later))),
        "different shifts of a single sample in three epochs": len(set(flat(run(Shifted(1), 0, 3, seed)))),
    },
    text="The shifts of all samples in all epochs, with workers and without.",
)

# %% [markdown] hint="data_repair_augmentation"
# What does a worker receive when it starts, and what happens to it when the epoch ends?

# %% [markdown] hint="data_repair_augmentation"
# The generator is copied with the dataset, in the state that it has in the main process, where nothing is ever drawn
# from it.

# %% [markdown] hint="data_repair_augmentation"
# Draw from a generator that is seeded separately in each worker, which is torch's own: `torch.randint(0, 10**9, ())`
# is enough.


# %% mutant="data_repair_augmentation"
# Seeds by worker
# The workers differ, but each starts with the same seed in every epoch, whereas `get_worker_info().seed` changes from
# epoch to epoch.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count, self.generator = count, None

    def __getitem__(self, index):
        if self.generator is None:
            info = data.get_worker_info()
            self.generator = np.random.default_rng(torch.initial_seed() if info is None else info.id)
        return int(self.generator.integers(0, 10**9))

    def __len__(self):
        return self.count


# %% mutant="data_repair_augmentation"
# Seeds once, in the first call
# If a sample is accessed before training, that access creates the generator, and each worker gets a copy of it in the
# same state.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count, self.generator = count, None

    def __getitem__(self, index):
        if self.generator is None:
            info = data.get_worker_info()
            self.generator = np.random.default_rng(torch.initial_seed() if info is None else info.seed)
        return int(self.generator.integers(0, 10**9))

    def __len__(self):
        return self.count


# %% mutant="data_repair_augmentation"
# Seeds from the clock
# Everything differs, but from run to run as well, so the same seed no longer reproduces a run.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(np.random.default_rng().integers(0, 10**9))

    def __len__(self):
        return self.count


# %% mutant="data_repair_augmentation"
# NumPy's own generator
# In workers it is seeded, but without workers it isn't: `torch.manual_seed` seeds only torch's generator.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(np.random.randint(0, 10**9))

    def __len__(self):
        return self.count


# %% mutant="data_repair_augmentation"
# A new generator for each sample
# Each sample of a worker gets the first number of the same stream. Create the generator once in each worker.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(np.random.default_rng(torch.initial_seed() % 2**63).integers(0, 10**9))

    def __len__(self):
        return self.count


# %% mutant="data_repair_augmentation"
# A stream for each sample
# With the index as the seed, the samples differ, but each of them has the same shift in every epoch and every run.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return int(np.random.default_rng(index).integers(0, 10**9))

    def __len__(self):
        return self.count


# %% mutant="data_repair_augmentation"
# Counts in the dataset
# A counter in a worker's copy never returns to the main process, so each worker starts at 0 in every epoch.
class Shifted(data.Dataset):
    def __init__(self, count):
        self.count, self.drawn, self.seed = count, 0, torch.initial_seed()

    def __getitem__(self, index):
        self.drawn += 1
        return int(np.random.default_rng((self.seed % 2**63, self.drawn)).integers(0, 10**9))

    def __len__(self):
        return self.count


# %% [markdown] exercise="data_measure_workers" kind="measure" points=2
# ### Exercise 7 · How many workers?
# `epoch(workers)` returns how long an epoch of 200 batches takes, in ms, on a machine that you don't know.
# `epoch(workers, reuse=True)` loads one batch and trains on it 200 times. You can request 0 to 16 workers.
#
# Find four values by experiment, and return them: how long it takes to *load* a batch without workers, how long a
# *step* takes, the smallest number of workers with which an epoch takes at most 2 % longer than with 16, and which
# fraction of the time the GPU is then busy. One of the machines has a slow disk, so compare your results with load
# time divided by step time.


# %% setup=true
def machine(load, step, lanes=99, startup=0.0):
    """A function epoch(workers, reuse=False). The disk serves at most `lanes` workers at the same time."""

    def epoch(workers, reuse=False):
        if not 0 <= workers <= 16:
            raise ValueError(f"there are 16 workers, not {workers}")
        if reuse:
            return load + 200 * step
        if workers == 0:
            return 200 * (load + step)
        free, disk, starts, done = [startup] * workers, [0.0] * lanes, [], 0.0
        for n in range(200):
            worker, lane = free.index(min(free)), disk.index(min(disk))
            asked = starts[n - 2 * workers] if n >= 2 * workers else 0.0
            free[worker] = disk[lane] = max(free[worker], disk[lane], asked) + load
            starts.append(max(done, free[worker]))
            done = starts[-1] + step
        return done

    return epoch


# %% solution="data_measure_workers"
def measure(epoch) -> tuple[float, float, int, float]:
    """(load, step, workers, share)"""
    ### BEGIN SOLUTION
    loop, reused = epoch(0), epoch(0, reuse=True)
    step = (reused - loop / 200) / 199  # loop = 200 (load + step), reused = load + 200 step
    load = loop / 200 - step
    best = epoch(16)
    workers = next(n for n in range(17) if epoch(n) <= 1.02 * best)
    return load, step, workers, 200 * step / epoch(workers)
    ### END SOLUTION


# %% check="data_measure_workers"


def patient(step):
    """A machine that becomes a little faster with each additional worker."""

    def epoch(workers, reuse=False):
        if reuse or workers == 0:
            return 4 * step + 200 * step if reuse else 200 * 5 * step
        return 200 * step * (1 + 0.1 / workers)

    return epoch


def borderline(load, first):
    """A machine on which `first` to 15 workers take exactly 2 % longer than 16."""

    def epoch(workers, reuse=False):
        if reuse or workers == 0:
            return load + 200 * 10.0 if reuse else 200 * (load + 10.0)
        return 3200.0 if workers == 16 else 3264.0 if workers >= first else 3300.0

    return epoch


def crowded(load, first):
    """A machine on which 16 workers are slower than `first` to 15 of them."""

    def epoch(workers, reuse=False):
        if reuse or workers == 0:
            return load + 200 * 10.0 if reuse else 200 * (load + 10.0)
        return 3200.0 if workers == 16 else 3000.0 if workers >= first else 3250.0 if workers >= 2 else 3300.0

    return epoch


generator = check.rng()
times = [(float(generator.uniform(25, 45)), float(generator.uniform(6, 12))) for _ in range(5)]
machines = {
    "fast disk": machine(*times[0]),
    "slow disk": machine(*times[1], lanes=2),
    "slow steps": machine(*reversed(times[2])),
    "a little faster with each worker": patient(times[3][1]),
    "slow start": machine(*times[4], startup=float(generator.uniform(100, 200))),
    "exactly 2 % longer": borderline(float(generator.uniform(20, 30)), int(generator.integers(3, 8))),
    "16 workers are slower than fewer": crowded(float(generator.uniform(20, 30)), int(generator.integers(5, 9))),
    "hardly any loading": machine(0.01 * times[0][1], times[0][1]),
}
shown = {}
for name, epoch in machines.items():
    found = measure(epoch)
    for part, value in zip(("load", "step", "workers", "share"), found, strict=True):
        shown[f"{name}: {part}"] = round(float(value), 6) if part != "workers" else int(value)
    shown[f"{name}: load / step"] = found[0] / found[1]
check.show(shown, rtol=1e-5, text="Times in ms, workers, and the fraction of the time in which the GPU is busy.")

# %% [markdown] hint="data_measure_workers"
# Without workers, an epoch takes 200 loads and 200 steps. With `reuse` it takes one load and 200 steps. That gives
# two equations with two unknowns.

# %% [markdown] hint="data_measure_workers"
# No formula gives the number of workers, so try 0, 1, 2, … and compare each time with `1.02 * epoch(16)`.

# %% [markdown] hint="data_measure_workers"
# `step = (epoch(0, reuse=True) - epoch(0) / 200) / 199`, and then `load = epoch(0) / 200 - step`. In an epoch, the
# GPU is busy for `200 * step`.


# %% mutant="data_measure_workers"
# The formula
# Load time divided by step time is correct as long as nothing else is the bottleneck. A slow disk serves only two
# workers, and the others wait.
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    step = (reused - loop / 200) / 199
    load = loop / 200 - step
    workers = math.ceil(load / step)
    return load, step, workers, 200 * step / epoch(workers)


# %% mutant="data_measure_workers"
# Until the GPU is busy
# With a slow disk the GPU is never fully busy, whatever the number of workers. Stop when more workers no longer help.
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    step = (reused - loop / 200) / 199
    load = loop / 200 - step
    workers = next((n for n in range(17) if 200 * step / epoch(n) > 0.95), 16)
    return load, step, workers, 200 * step / epoch(workers)


# %% mutant="data_measure_workers"
# Loading and step together
# An epoch without workers contains both, so subtract the time of the step.
def measure(epoch):
    load, step = epoch(0) / 200, epoch(0, reuse=True) / 200
    best = epoch(16)
    workers = next(n for n in range(17) if epoch(n) <= 1.02 * best)
    return load, step, workers, 200 * step / epoch(workers)


# %% mutant="data_measure_workers"
# The fastest
# More workers always save a little time at the start of the epoch. The question is for the smallest number that is
# nearly as good.
def measure(epoch):
    loop, reused = epoch(0), epoch(0, reuse=True)
    step = (reused - loop / 200) / 199
    load = loop / 200 - step
    workers = 16
    return load, step, workers, 200 * step / epoch(workers)
