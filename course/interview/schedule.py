"""Which cards come first: what was wrong, then weak topics, and none before its time (spaced repetition)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import numpy as np

from course.interview.cards import Card
from course.interview.history import Answer

T = TypeVar("T")
HOUR, DAY = 3600.0, 86400.0
RESTS = (HOUR, DAY, 3 * DAY, 7 * DAY, 16 * DAY, 35 * DAY)
"""How many seconds a card rests after it was right so many times in a row."""
ENOUGH = 2 / 3
"""The share of a card that makes it right: two of three points."""


def streak(answers: Sequence[Answer]) -> int:
    """How many times in a row a card was right, of its answers in the order of time."""
    count = 0
    for answer in reversed(answers):
        if answer.score < ENOUGH:
            break
        count += 1
    return min(count, len(RESTS) - 1)


def due(answers: Sequence[Answer]) -> float:
    """When a card may be asked again, as a time; 0 if it was not asked yet."""
    return answers[-1].when + RESTS[streak(answers)] if answers else 0.0


def weakness(topics: Collection[str], history: Iterable[Answer], cards: dict[str, Card]) -> dict[str, float]:
    """For each topic the share of points that were missing, as if one of two more answers had been wrong.

    So a topic that nobody asked about is at one half, between those that went well and those that didn't.
    """
    missed = dict.fromkeys(topics, 1.0)
    asked = dict.fromkeys(topics, 2.0)
    for answer in history:
        card = cards.get(answer.card)
        for topic in card.topics if card else ():
            if topic in asked:
                missed[topic] += 1 - answer.score
                asked[topic] += 1
    return {topic: missed[topic] / asked[topic] for topic in topics}


def order(
    chosen: Iterable[Card], history: Sequence[Answer], cards: dict[str, Card], now: float, rng: np.random.Generator
) -> list[Card]:
    """The cards: what was wrong the last time, then those of the weakest topics, and those that rest at the end.

    Chance decides between equals, and a card of twice the weight is twice as likely to come before another.
    """
    found = list(chosen)
    by_card: dict[str, list[Answer]] = {}
    for answer in sorted(history, key=lambda each: each.when):
        by_card.setdefault(answer.card, []).append(answer)
    weak = weakness({topic for card in found for topic in card.topics}, history, cards)

    def place(card: Card) -> tuple[bool, bool, float]:
        given = by_card.get(card.name, [])
        was_wrong = bool(given) and not streak(given)
        return due(given) > now, not was_wrong, -max((weak[topic] for topic in card.topics), default=0.5)

    return sorted(shuffled(found, [card.weight for card in found], rng), key=place)


def shuffled(values: Sequence[T], weights: Sequence[float], rng: np.random.Generator) -> list[T]:
    """The values in the order in which they are drawn by their weights, without putting one back.

    A value's time until it is drawn is exponential with its weight as the rate (Efraimidis and Spirakis, 2006).
    """
    times = rng.exponential(size=len(values)) / np.asarray(weights, float)
    return [values[int(place)] for place in times.argsort(kind="stable")]
