"""A phone screen: questions about one topic, and a whiteboard problem of the same topic."""

from __future__ import annotations

from collections.abc import Sequence

from course.interview.cards import Card

FILLED = 6
"""Where a topic has fewer questions than these, its chapter's follow."""


def concept(questions: Sequence[Card], problems: Sequence[Card]) -> tuple[list[Card], list[Card]]:
    """The questions and the problems of a screen, from the orders in which they would be asked.

    The topic is the first one that has a problem and, with its chapter, enough questions. Without such a topic the
    first question's stands for it, or this question's chapter, with a problem of the chapter or any.
    """
    topics = [topic for topic in dict.fromkeys(card.topic for card in questions) if topic and _about(topic, problems)]
    topic = next((each for each in topics if len(_filled(each, questions)) >= FILLED), questions[0].topic)
    chosen = _filled(topic, questions)
    beside = [card for card in problems if card.chapter == chosen[0].chapter]
    return chosen, _about(topic, problems) or beside or list(problems)


def _filled(topic: str, questions: Sequence[Card]) -> list[Card]:
    """The questions about a topic, and then others of its chapter; those of the first one's, if it has no topic."""
    mine = _about(topic, questions)
    chapter = (mine or questions)[0].chapter
    beside = [card for card in questions if card.chapter == chapter and card not in mine]
    return [*mine, *beside][: max(FILLED, len(mine))]


def _about(topic: str, cards: Sequence[Card]) -> list[Card]:
    return [card for card in cards if topic in card.topics]
