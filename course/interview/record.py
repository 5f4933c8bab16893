"""The record of a learner: which whiteboard problems were solved in which time, and what each round earned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from course.interview.bank import Bank
from course.interview.clock import spoken
from course.interview.history import Answer
from course.interview.rounds import ROUNDS, title


def record(bank: Bank, answers: Sequence[Answer]) -> str:
    """All attempts at whiteboard problems, problem by problem, and then the rounds."""
    if not answers:
        return "No interview yet."
    return "\n\n".join(filter(None, [_problems(bank, answers), _rounds(answers)]))


def _problems(bank: Bank, answers: Sequence[Answer]) -> str:
    attempts: dict[str, list[Answer]] = {}
    for each in sorted(answers, key=lambda answer: answer.when):
        if each.round == "whiteboard" and each.card in bank.cards:
            attempts.setdefault(each.card, []).append(each)
    lines = ["## Whiteboard problems", "", "| problem | on | time | earned |", "|---|---|---|---|"]
    for name, given in attempts.items():
        for place, each in enumerate(given):
            called = "" if place else title(bank, bank.cards[name]).removeprefix("the exercise ")
            on = datetime.fromtimestamp(each.when).strftime("%Y-%m-%d")
            lines.append(f"| {called} | {on} | {time(each) or 'no clock'} | {earned(each.score)} |")
    return "\n".join(lines) if attempts else ""


def _rounds(answers: Sequence[Answer]) -> str:
    lines = ["## All rounds", "", "| round | answers | late | earned |", "|---|---|---|---|"]
    for name, each in ROUNDS.items():
        if of := [answer for answer in answers if answer.round == name]:
            share = sum(answer.score for answer in of) / len(of)
            lines.append(f"| {each.title} | {len(of)} | {sum(answer.late for answer in of)} | {earned(share)} |")
    return "\n".join(lines)


def time(answer: Answer) -> str:
    """How long somebody wrote at the whiteboard, and how long they should: `11 min of 12`; empty without a clock."""
    if answer.took is None or answer.stated is None:
        return ""
    took = spoken(answer.took) if answer.took < 60 else f"{math.ceil(answer.took / 60)} min"
    return f"{took} of {answer.stated / 60:g}{' min' if answer.took < 60 else ''}"


def earned(score: float) -> str:
    """A share of the points in words."""
    return "full marks" if score == 1 else f"{100 * score:.0f} %"
