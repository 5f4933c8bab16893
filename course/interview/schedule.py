"""Which cards come first: drawn by how often they are asked and what was wrong, none before its time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from course.interview.cards import Card
from course.interview.history import Answer
from course.interview.twins import family, unlike

T = TypeVar("T")
HOUR, DAY = 3600.0, 86400.0
RESTS = (HOUR, DAY, 3 * DAY, 7 * DAY, 16 * DAY, 35 * DAY)
"""How many seconds a card rests after it was right so many times in a row."""
ENOUGH = 2 / 3
"""The share of a card that makes it right: two of three points."""
AGAIN = 100.0
"""How many times as likely a card is to come if it was wrong the last time: as likely as the whole bank beside it."""


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


def weakness(history: Iterable[Answer], cards: dict[str, Card]) -> dict[str, float]:
    """For each subject that was asked, the share of points that were missing, as if one of two more answers was wrong.

    So one answer moves a subject from one half, where those are that nobody asked about, to a third or to two thirds.
    """
    missed: dict[str, float] = {}
    asked: dict[str, float] = {}
    for answer in history:
        if card := cards.get(answer.card):
            missed[card.subject] = missed.get(card.subject, 1.0) + 1 - answer.score
            asked[card.subject] = asked.get(card.subject, 2.0) + 1
    return {subject: missed[subject] / asked[subject] for subject in asked}


def order(
    chosen: Iterable[Card],
    history: Sequence[Answer],
    cards: dict[str, Card],
    now: float,
    rng: np.random.Generator,
    most: int = 0,
) -> list[Card]:
    """The cards in the order in which they are asked, those that rest at the end.

    Every second card is drawn by how often interviews ask it. The others are drawn by that, too, but a card of a weak
    subject counts up to twice, and one that was wrong the last time counts `AGAIN` times as much. So what was missed
    comes back soon, and no miss decides about a whole interview. An answer counts for all cards that ask the same.

    Args:
        most: how many cards of one chapter may come before each other chapter had its turn; any number, if it is 0.
    """
    found = list(chosen)
    given: dict[str, list[Answer]] = {}
    for answer in sorted(history, key=lambda each: each.when):
        known_as = family(cards[answer.card]) if answer.card in cards else answer.card
        given.setdefault(known_as, []).append(answer)
    weak = weakness(history, cards)

    def urgency(card: Card) -> float:
        its = given.get(family(card), [])
        was_wrong = bool(its) and not streak(its)
        return card.weight * 2 * weak.get(card.subject, 0.5) * (AGAIN if was_wrong else 1.0)

    asleep = [due(given.get(family(card), [])) > now for card in found]
    drawn = []
    for rests in (False, True):
        group = [card for card, its in zip(found, asleep, strict=True) if its == rests]
        ways = [shuffled(group, [way(card) for card in group], rng) for way in (urgency, lambda card: card.weight)]
        first, second = ways if rng.random() < 0.5 else ways[::-1]
        mixed = dict.fromkeys(card for pair in zip(first, second, strict=True) for card in pair)
        drawn += spread(unlike(list(mixed), ()), most or len(group))
    return drawn


def spread(order: Sequence[Card], most: int) -> list[Card]:
    """The order in which each chapter has its first `most` cards before any chapter has its next ones."""
    had: dict[str, int] = {}
    turns = []
    for card in order:
        turns.append(had.get(card.chapter, 0) // most)
        had[card.chapter] = had.get(card.chapter, 0) + 1
    return [order[at] for at in sorted(range(len(order)), key=lambda at: turns[at])]


def shuffled(values: Sequence[T], weights: Sequence[float], rng: np.random.Generator) -> list[T]:
    """The values in the order in which they are drawn by their weights, without putting one back.

    A value's time until it is drawn is exponential with its weight as the rate (Efraimidis and Spirakis, 2006).
    """
    times = rng.exponential(size=len(values)) / np.asarray(weights, float)
    return [values[int(place)] for place in times.argsort(kind="stable")]
