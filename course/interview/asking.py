"""What every round shares: the item that is asked, what a round is, and the questions that several of them ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from course.interview.bank import Bank
from course.interview.calibration import LEVELS
from course.interview.cards import Card
from course.interview.clock import Clock, Watch
from course.interview.history import Answer, Item
from course.interview.prompts import Prompt, Rate, Talk, Write

SURE = (
    "almost certainly wrong (10 %)",
    "probably wrong (30 %)",
    "even odds (50 %)",
    "probably right (70 %)",
    "almost certainly right (90 %)",
)


MEANT = "I meant something else"
AGAIN = "What do you mean?"


@dataclass
class Asking:
    """An item while it is asked: its cards, its random numbers and its watch, and all cards of the interview."""

    bank: Bank
    item: Item
    cards: Sequence[Card]
    watch: Watch
    clock: Clock
    every: Sequence[Card] = ()

    @property
    def card(self) -> Card:
        """The card, where there is one."""
        return self.cards[0]

    @property
    def subject(self) -> str:
        """The chapter that the card is from, by number and title."""
        chapter = self.card.chapter
        return f"{chapter.partition('_')[0]} · {self.bank.titles.get(chapter, '')}"

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers of this item, the same each time it is asked."""
        return np.random.default_rng(self.item.seed)

    def answer(
        self, score: float, sure: int | None = None, card: Card | None = None, right: bool | None = None
    ) -> Answer:
        """An answer that was given now."""
        name = (card or self.card).name
        return Answer(name, self.item.round, self.clock.now(), score, sure, self.watch.seconds, self.watch.late, right)


class Round(ABC):
    """One kind of round: the `kinds` of cards it draws, the `seconds` for an item, and its `share` of the minutes."""

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    seconds: ClassVar[float]
    share: ClassVar[float]
    """In minutes, if the round is held alone; a whole interview divides its minutes in these proportions."""
    together: ClassVar[int] = 1
    """How many cards make one item."""
    is_optional: ClassVar[bool] = False
    """Whether a whole interview goes without, where a long problem leaves less than three times its `seconds`."""
    most: ClassVar[int] = 0
    """How many cards of one chapter are asked before other chapters had their turn; 0 if that doesn't matter."""

    @abstractmethod
    def talk(self, asking: Asking) -> Talk:
        """Ask, and say what came of it."""

    def items(self, order: Sequence[Card], minutes: float, whole: float, rng: np.random.Generator) -> list[Item]:
        """What is asked in so many minutes of the `whole` interview's: at least one item, and no card twice."""
        count = max(1, int(minutes * 60 // self.seconds))
        groups = self.groups(order)[:count]
        return [Item(self.name, [card.name for card in group], int(rng.integers(2**31))) for group in groups]

    def groups(self, order: Sequence[Card]) -> list[Sequence[Card]]:
        """The cards that are asked together."""
        return [[card] for card in order]

    def allowed(self, cards: Sequence[Card]) -> float:
        """How many seconds an item of these cards may take."""
        return self.seconds


def how_sure(text: str) -> Generator[Prompt, Any, int]:
    """Ask how sure somebody is, in percent."""
    sure: int = yield Rate(text, SURE, LEVELS)
    return sure


def understood(said: str) -> Generator[Prompt, Any, int | None]:
    """Repeat how a line was read, and ask how sure somebody is of it; None if something else was meant."""
    sure: int | None = yield Rate(f"I read **{said}**. How sure are you?", (*SURE, MEANT), (*LEVELS, None))
    return sure


def a_line(text: str, label: str, again: bool = False) -> Generator[Prompt, Any, str]:
    """Ask for a line until there is one: a slip of the Enter key is no answer."""
    given = str((yield Write(text, label, again)))
    while not given.strip():
        given = str((yield Write("The line is empty. Once more:", label, True)))
    return given


def is_pass(given: str) -> bool:
    """Whether a line says that somebody doesn't know."""
    return given.strip(" .?!").lower() in ("none", "pass", "skip", "idk", "i don't know")


def timed(asking: Asking) -> str:
    """How long the answer took, with a full stop; empty without a clock."""
    said = asking.watch.said()
    return f"{said}. " if said else ""
