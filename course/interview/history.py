"""What was asked and how it went: `my/interview/history.json`, written whole after each answer.

The items of an open interview stand there without their names, since the name of a fault is the answer. How long the
present item has taken is in a small file of its own, `clock.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from course.files import Course, write_atomically
from course.notebooks.rebuild import back_up

VERSION = 1


@dataclass(frozen=True)
class Answer:
    """An answer to a card: `score` from 0 to 1, `sure` in percent, `when` in seconds since 1970.

    `seconds` is None where no clock ran; `late` means that they were more than allowed. `right` says whether that was
    right of which somebody said how sure they were, where the score is about more than that. `took` and `stated` are
    the seconds of writing at a whiteboard: those that it took, and those that the problem's notebook states.
    """

    card: str
    round: str
    when: float
    score: float
    sure: int | None = None
    seconds: float | None = None
    late: bool = False
    right: bool | None = None
    took: float | None = None
    stated: float | None = None


@dataclass(frozen=True)
class Item:
    """What is asked at one go in a round: cards, and the seed of their numbers."""

    round: str
    cards: list[str]
    seed: int

    def sealed(self) -> Item:
        """The same item, with cards that only somebody who has the course's can tell apart."""
        return replace(self, cards=[seal(name) for name in self.cards])


@dataclass
class Open:
    """An interview that isn't over: its items, how many are done, and the seconds that they took."""

    seed: int
    minutes: float
    clock: bool
    items: list[Item]
    done: int = 0
    elapsed: float = 0.0
    began: float = 0.0
    spent: float = 0.0
    """The seconds that went into the next item before it was interrupted."""
    note: str = ""
    """What of the plan isn't held as it was asked for, and why."""


@dataclass
class History:
    """All answers of a learner, and the interview that is open. `note` says what was wrong with the file."""

    path: Path
    answers: list[Answer] = field(default_factory=list)
    open: Open | None = None
    note: str = ""

    def save(self) -> None:
        """Write the file, whole or not at all, with the answers that another window has written into it meanwhile."""
        self._merge()
        self._write()

    def _merge(self) -> None:
        """Take over what the file has and this history lacks: answers, and how far the open interview is."""
        try:
            answers, opened = _parsed(json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, AttributeError, KeyError, TypeError, ValueError):  # none yet, or damaged: this one replaces it
            return
        known = {(each.card, each.when) for each in self.answers}
        others = [each for each in answers if (each.card, each.when) not in known]
        self.answers = sorted([*self.answers, *others], key=lambda each: each.when)
        if self.open and opened and (opened.began, opened.seed) == (self.open.began, self.open.seed):
            self.open.done = max(self.open.done, opened.done)

    def _write(self) -> None:
        about = {
            "version": VERSION,
            "answers": [asdict(each) for each in self.answers],
            "open": asdict(replace(self.open, items=[each.sealed() for each in self.open.items]))
            if self.open
            else None,
        }
        write_atomically(self.path, json.dumps(about, indent=1, ensure_ascii=False) + "\n")

    @property
    def clock(self) -> Path:
        """The file of the item's time. Whoever writes it changes no answer, not even that of a later interview."""
        return self.path.with_name("clock.json")

    def open_cards(self, names: Iterable[str]) -> None:
        """Give the sealed cards of the open interview their names. Older histories have them already."""
        by_seal = {seal(name): name for name in names}
        if self.open:
            opened = [replace(each, cards=[by_seal.get(card, card) for card in each.cards]) for each in self.open.items]
            self.open.items = opened


def seal(name: str) -> str:
    """What stands for a card's name where the name would be the answer."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def folder(course: Course) -> Path:
    """Where interviews keep their files."""
    return course.mine / "interview"


def read(course: Course) -> History:
    """The learner's history. A file that can't be read is set aside, in `my/backups`, and a new history begins."""
    path = folder(course) / "history.json"
    if not path.exists():
        return History(path)
    try:
        past = History(path, *_parsed(json.loads(path.read_text(encoding="utf-8"))))
    except (AttributeError, KeyError, TypeError, ValueError):  # no JSON, or not of this form
        kept = back_up(course, path)
        path.unlink()
        where = kept.relative_to(course.root)
        return History(path, note=f"my/interview/history.json is damaged. It was moved to {where}; a new one begins.")
    if past.open and past.clock.exists():
        past.open.spent = max(past.open.spent, _noted(past.clock, past.open))
    return past


def _noted(path: Path, opened: Open) -> float:
    """The seconds that the item to be asked has taken; 0 if the file is about another item, or damaged."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        return float(about["spent"]) if (about["began"], about["done"]) == (opened.began, opened.done) else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.0


def _parsed(about: Mapping[str, Any]) -> tuple[list[Answer], Open | None]:
    if about["version"] != VERSION:
        raise ValueError(f"a history of version {about['version']}")
    answers = [_checked(Answer(**each)) for each in about["answers"]]
    opened = about["open"]
    if opened is None:
        return answers, None
    items = [Item(**each) for each in opened["items"]]
    for item in items:
        _typed({"round": item.round, "seed": item.seed}, {"round": str, "seed": int})
        if not item.cards or not all(isinstance(each, str) for each in item.cards):
            raise TypeError("the cards of an item are names")
    return answers, _checked_open(Open(**{**opened, "items": items}))


def _checked(answer: Answer) -> Answer:
    numbers = {"when": answer.when, "score": answer.score, "seconds": answer.seconds or 0.0, "sure": answer.sure or 0}
    numbers |= {"took": answer.took or 0.0, "stated": answer.stated or 0.0}
    _typed(numbers, dict.fromkeys(numbers, (int, float)))
    _typed({"card": answer.card, "round": answer.round}, {"card": str, "round": str})
    _typed({"right": answer.right or False}, {"right": bool})
    if not 0 <= answer.score <= 1 or not 0 <= (answer.sure or 0) <= 100:
        raise ValueError("a score is from 0 to 1, and a percentage from 0 to 100")
    return answer


def _checked_open(opened: Open) -> Open:
    numbers = {name: getattr(opened, name) for name in ("minutes", "elapsed", "began", "spent")}
    _typed(numbers, dict.fromkeys(numbers, (int, float)))
    others = {"seed": opened.seed, "done": opened.done, "clock": opened.clock, "note": opened.note}
    _typed(others, {"seed": int, "done": int, "clock": bool, "note": str})
    if not 0 <= opened.done <= len(opened.items):
        raise ValueError("an interview has no more items done than it has")
    return opened


def _typed(values: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if not isinstance(value, types[name]):
            raise TypeError(f"{name} is {value!r}")
