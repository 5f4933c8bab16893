"""What the tests of interviews share: a clock, and ways to hold an interview."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import ipywidgets
from click.testing import CliRunner, Result
from rich.console import Console

from course.__main__ import main
from course.files import Course
from course.interview import asking, history, notebook, rounds, terminal
from course.interview.bank import Bank
from course.interview.cards import Card
from course.interview.clock import Clock, Watch
from course.interview.history import Answer, History, Item
from course.interview.interview import Interview
from course.interview.prompts import Rate, Say, Speak, Wait
from course.interview.scope import Plan

NOON = 1_800_000_000.0


class Time:
    """A clock that moves when told to, and by `each` at each reading. The interview saves it every `every` seconds."""

    def __init__(self, each: float = 0.0, every: float = 3600.0) -> None:
        self.at, self.each, self.every = 0.0, each, every

    def ticks(self) -> float:
        self.at += self.each
        return self.at

    @property
    def clock(self) -> Clock:
        return Clock(lambda: NOON + self.at, self.ticks, self.every)


def of_course(bank: Bank, course: Course) -> Bank:
    own = Bank.__new__(Bank)
    own.__dict__.update(bank.__dict__, course=course)
    return own


def hold(course: Course, *options: str, replies: str = "") -> Result:
    return CliRunner().invoke(main, ["--root", str(course.root), "interview", *options], input=replies)


def kept(course: Course) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((course.mine / "interview" / "history.json").read_text())
    return read


def talked(bank: Bank, course: Course, item: Item, reply: Callable[[Any], Any]) -> tuple[list[Any], list[Answer]]:
    """Everything that a round shows, and its answers; `reply` answers what it asks."""
    own, time = of_course(bank, course), Time()
    watch = Watch(time.clock, rounds.ROUNDS[item.round].seconds, True)
    cards = [bank.cards[name] for name in item.cards]
    talk = rounds.ROUNDS[item.round].talk(asking.Asking(own, item, cards, watch, time.clock))
    shown, sent = [], None
    try:
        while True:
            shown.append(talk.send(sent))
            match shown[-1]:
                case Say():
                    sent = None
                case Wait(_, does):
                    sent = does(str)
                case Speak() as asked:
                    typed = reply(asked)
                    sent = typed if isinstance(typed, str) else ""
                case Rate(percents=percents) as asked:
                    sent = percents[reply(asked)]  # which takes its place, as of any other choice
                case asked:
                    sent = reply(asked)
    except StopIteration as end:
        return shown, end.value


def in_terminal(prompt: Any, width: int = 80, replies: str = "1\n") -> str:
    """What a terminal shows of a prompt."""

    @click.command()
    def ask() -> None:
        terminal.answered(prompt, Console(width=width))

    result = CliRunner().invoke(ask, input=replies)
    assert result.exception is None, result.output
    return result.output


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def at(course: Course, *items: Item) -> notebook.Room:
    """The room of an interview of these items, without a clock."""
    room = notebook.room_for(course, ipywidgets, clock=Time().clock)
    room.interview.history.open = history.Open(1, 45, False, list(items))
    return notebook.Room(room.interview, ipywidgets)


def asked(interview: Interview, kind: str) -> list[Card]:
    """The cards of a round that an interview asks."""
    assert interview.history.open is not None
    return [
        interview.bank.cards[name] for item in interview.history.open.items if item.round == kind for name in item.cards
    ]


def drawn_of(bank: Bank, tmp_path: Path, plan: Plan) -> Interview:
    interview = Interview(bank, History(tmp_path / "history.json"), Time().clock)
    interview.draw(plan)
    return interview
