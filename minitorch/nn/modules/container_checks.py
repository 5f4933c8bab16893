"""What containers of modules, and of parameters, are given: places in a list, iterables, pairs of names and values."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from minitorch.tensor import Tensor


def place(index: Any, length: int) -> int:
    """An index counted from the front. Raises IndexError where there is none."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def check_iterable(owner: str, method: str, value: Any) -> None:
    """Raises TypeError for anything but an iterable."""
    if not isinstance(value, Iterable) or isinstance(value, Tensor):
        raise TypeError(f"{owner}.{method} should be called with an iterable, but got {type(value).__name__}")


def as_pairs(owner: str, caller: str, values: Any, is_mapping: bool) -> list[tuple[str, Any]]:
    """The items of a mapping or a sequence of pairs. Raises TypeError or ValueError for anything else."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{caller} should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if is_mapping:
        return list(values.items())  # type: ignore[attr-defined]
    pairs = list(values)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        length = len(pair)  # type: ignore[arg-type]
        if length != 2:
            raise ValueError(f"{owner} update sequence element #{number} has length {length}; 2 is required")
    return pairs
