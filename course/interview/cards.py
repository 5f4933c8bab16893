"""What an interview asks: a card for each question, statement, program, exercise, fault or estimate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Point:
    """Something that a good answer says: `label` is what it is to the question ("Thirty seconds", "The trap")."""

    label: str
    text: str


@dataclass(frozen=True)
class Card:
    """One thing that can be asked again and again.

    `name` is the same from one version of the course to the next as long as the words are. `topics` are those of
    topics.yml, and `topic` is the one that it is mainly about, if more than its chapter is known. `points` are what a
    good answer says; `about` is what a round needs beside the words. `weight` says how often interviews ask it,
    compared with another card of its kind. `names` are others under which people look for it, and `section` is the
    lesson's heading above a question, which says what it is about.
    """

    name: str
    kind: str
    chapter: str
    words: str
    points: tuple[Point, ...] = ()
    topics: frozenset[str] = frozenset()
    about: Any = field(default=None, compare=False)
    weight: float = 1.0
    names: str = ""
    topic: str = ""
    section: str = ""

    @property
    def subject(self) -> str:
        """What an answer says something about: the card's main topic, or its chapter."""
        return self.topic or self.chapter
