"""Parts that are right one by one, each beside the reference's others, earn their points if they also work together."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def at_odds(parts: Sequence[T], works: Callable[[Sequence[T]], bool]) -> list[T]:
    """Of parts that are right alone, those that do not work with another one: two that call each other, say.

    Args:
        parts: what was right alone.
        works: whether these are right together, while everything else is the reference's.
    """
    if len(parts) < 2 or works(parts):
        return []
    odd: set[int] = set()
    for one, other in itertools.combinations(range(len(parts)), 2):
        if not works([parts[one], parts[other]]):
            odd |= {one, other}
    even = [part for place, part in enumerate(parts) if place not in odd]
    if len(even) > 1 and not (odd and works(even)):  # three that call each other in a circle
        return list(parts)
    return [parts[place] for place in sorted(odd)]
