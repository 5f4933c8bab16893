"""Which of several equal elements a selection points to: the one that PyTorch's algorithms come upon on the CPU.

PyTorch leaves it open, but its algorithms are deterministic: introselect and introsort (Musser 1997, *Introspective
sorting and selection algorithms*) as the GNU C++ library has them, and quickselect with the median of three elements
(Press et al., *Numerical recipes*, §8.5). They run here in Python, so in small tensors only: in larger ones equal
elements keep their order. Rows are lists of ranks, smallest first, in which equal elements have equal ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.backend import Array

_MOST_ELEMENTS = 1 << 10
_SMALL = 16  # parts that introsort leaves to insertion
_HEAP_FROM = 64  # k · 64 ≤ n: PyTorch selects with a heap, which keeps no order that is worth following


class _Row:
    """The ranks of a row and where they came from; elements move together with their places."""

    __slots__ = ("places", "ranks")

    def __init__(self, ranks: list[int]) -> None:
        self.ranks = ranks
        self.places = list(range(len(ranks)))

    def swap(self, i: int, j: int) -> None:
        ranks, places = self.ranks, self.places
        ranks[i], ranks[j] = ranks[j], ranks[i]
        places[i], places[j] = places[j], places[i]

    def insert(self, first: int, last: int) -> None:
        """Sorts a part by insertion, which keeps the order of equal elements."""
        order = sorted(range(first, last), key=self.ranks.__getitem__)
        self.ranks[first:last] = [self.ranks[i] for i in order]
        self.places[first:last] = [self.places[i] for i in order]

    def partition(self, first: int, last: int) -> int:
        """Moves what is smaller than the median of three to the left. Returns where the right part begins."""
        ranks = self.ranks
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if ranks[a] < ranks[b]:
            median = b if ranks[b] < ranks[c] else c if ranks[a] < ranks[c] else a
        else:
            median = a if ranks[a] < ranks[c] else c if ranks[b] < ranks[c] else b
        self.swap(first, median)
        pivot, i, j = ranks[first], first + 1, last
        while True:
            while ranks[i] < pivot:
                i += 1
            j -= 1
            while pivot < ranks[j]:
                j -= 1
            if i >= j:
                return i
            self.swap(i, j)
            i += 1

    def introselect(self, nth: int) -> None:
        """Puts the element of rank `nth` in its place, smaller ones before it."""
        first, last = 0, len(self.ranks)
        while last - first > 3:
            cut = self.partition(first, last)
            first, last = (cut, last) if cut <= nth else (first, cut)
        self.insert(first, last)

    def introsort(self, last: int) -> None:
        """Sorts the elements before `last`."""
        parts = [(0, last)]
        while parts:
            first, end = parts.pop()
            if end - first > _SMALL:
                cut = self.partition(first, end)
                parts += [(first, cut), (cut, end)]
        self.insert(0, last)

    def quickselect(self, k: int) -> None:
        """Puts the element of rank k in its place."""
        ranks, left, right = self.ranks, 0, len(self.ranks) - 1
        while right > left + 1:
            self.swap((left + right) // 2, left + 1)
            for i, j in ((left + 1, right), (left, right), (left + 1, left)):
                if ranks[i] > ranks[j]:
                    self.swap(i, j)
            pivot, i, j = ranks[left], left + 1, right
            while True:
                i += 1
                while pivot > ranks[i]:
                    i += 1
                j -= 1
                while ranks[j] > pivot:
                    j -= 1
                if j < i:
                    break
                self.swap(i, j)
            self.swap(left, j)
            if j <= k:
                left = i
            if j >= k:
                right = j - 1
        if right == left + 1 and ranks[left] > ranks[right]:
            self.swap(left, right)


def top_of(xp: Any, self: Array, order: Array, k: int, dim: int, sorted: bool) -> Array:
    """Of a stable order along `dim` the first k places, as `topk` finds them, and unless sorted in that order."""
    if k == 0 or k * _HEAP_FROM <= self.shape[dim]:
        return order[(*(slice(None),) * dim, slice(k))]

    def choose(row: _Row) -> list[int]:
        row.introselect(k - 1)
        if sorted:
            row.introsort(k - 1)
        return row.places[:k]

    return _resolved(xp, self, order, slice(k), dim, choose, all_rows=not sorted)


def kth_of(xp: Any, self: Array, order: Array, rank: int, dim: int) -> Array:
    """Of a stable order along `dim` the place of one rank, as `kthvalue` finds it."""

    def choose(row: _Row) -> list[int]:
        row.quickselect(rank)
        return row.places[rank : rank + 1]

    return _resolved(xp, self, order, slice(rank, rank + 1), dim, choose)


def sorted_of(xp: Any, self: Array, order: Array, dim: int) -> Array:
    """Of a stable order along `dim` all places, as `sort` finds them where it need not be stable."""

    def choose(row: _Row) -> list[int]:
        row.introsort(len(row.ranks))
        return row.places

    return _resolved(xp, self, order, slice(None), dim, choose)


def _resolved(
    xp: Any,
    self: Array,
    order: Array,
    part: slice,
    dim: int,
    choose: Callable[[_Row], list[int]],
    all_rows: bool = False,
) -> Array:
    """A part of a stable order along `dim`, but in rows with ties, or in all, what `choose` makes of their ranks."""
    order, values = xp.moveaxis(order, dim, -1), xp.moveaxis(self, dim, -1)
    size = values.shape[-1]
    if not 0 < order.size <= _MOST_ELEMENTS:
        return xp.moveaxis(order[..., part], -1, dim)
    result = order[..., part].copy()
    rows, found = order.reshape(-1, size), result.reshape(-1, result.shape[-1])
    ordered = xp.take_along_axis(values.reshape(-1, size), rows, 1)
    left, right = ordered[:, :-1], ordered[:, 1:]
    differs = (left != right) & ((left == left) | (right == right))  # NaN is equal to NaN
    ranks = xp.zeros(rows.shape, "int64")
    xp.put_along_axis(ranks, rows[:, 1:], differs.cumsum(1), 1)
    for row in xp.nonzero(~differs.all(1) | all_rows)[0].tolist():
        found[row] = xp.asarray(choose(_Row(ranks[row].tolist())))
    return xp.moveaxis(found.reshape(result.shape), -1, dim)
