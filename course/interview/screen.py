"""A phone screen: questions about one topic, and a whiteboard problem of the same topic."""

from __future__ import annotations

from collections.abc import Sequence

from course.interview.cards import Card

ENOUGH = 3
"""A topic with fewer questions is no concept for half an hour."""
FILLED = 6
"""Where the topic has fewer questions than these, its chapter's follow."""


def concept(questions: Sequence[Card], problems: Sequence[Card]) -> tuple[list[Card], list[Card]]:
    """The questions and the problems of a screen, from the orders in which they would be asked.

    The topic is the first one that has several questions and a problem. Without a problem of its own, a topic gets one
    of its chapter, or any. Without a topic of several questions, the first question's chapter stands for it.
    """
    topics = [topic for topic in dict.fromkeys(card.topic for card in questions) if topic]
    several = [topic for topic in topics if len(_about(topic, questions)) >= ENOUGH]
    topic = next((each for each in several if _about(each, problems)), next(iter(several), ""))
    mine = _about(topic, questions)
    chapter = (mine or questions)[0].chapter
    beside = [card for card in questions if card.chapter == chapter and card not in mine]
    chosen = _about(topic, problems) or [card for card in problems if card.chapter == chapter] or list(problems)
    return [*mine, *beside][: max(FILLED, len(mine))], chosen


def _about(topic: str, cards: Sequence[Card]) -> list[Card]:
    return [card for card in cards if topic in card.topics]
