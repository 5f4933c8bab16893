"""How an interview went: by rounds, how sure the learner was, what was missed, and where to read about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from course.interview import calibration
from course.interview.bank import Bank
from course.interview.history import Answer
from course.interview.prompts import Say
from course.interview.rounds import ROUNDS, title
from course.interview.schedule import ENOUGH, weakness

CLEAR = 1 / 3
"""A single answer says that a subject is weak only with less than this share of its points."""
LISTED = 3


def summary(bank: Bank, answers: Sequence[Answer], every: Sequence[Answer]) -> Iterator[Say]:
    """What is said at the end.

    Args:
        bank: with the cards.
        answers: of this interview.
        every: of all interviews, this one included.
    """
    if not answers:
        yield Say("Nothing was asked.")
        return
    yield Say(rounds(answers))
    if pairs := calibration.pairs(answers):
        yield Say(f"{calibration.verdict(pairs)} Brier score {calibration.brier(pairs):.2f}; 0 is best.")
        found = calibration.levels(pairs)
        yield Say(f"```text\n{calibration.bars(found)}\n```", picture=lambda: calibration.curve(found))
    if told := "\n\n".join(filter(None, [missed(bank, answers), weakest(bank, every)])):
        yield Say(told)


def rounds(answers: Sequence[Answer]) -> str:
    """A table with a line for each round."""
    lines = ["## How it went", "", "| round | asked | points | late |", "|---|---|---|---|"]
    for name, each in ROUNDS.items():
        of = [answer for answer in answers if answer.round == name]
        if of:
            share = sum(answer.score for answer in of) / len(of)
            lines.append(f"| {each.title} | {len(of)} | {share:.0%} | {sum(answer.late for answer in of)} |")
    said = (
        "*Points* is the share of a round's points that you got; an answer with two thirds of its own counts as right."
    )
    return "\n".join([*lines, "", said])


def missed(bank: Bank, answers: Sequence[Answer]) -> str:
    """What was not right, and where to read about it."""
    cards = [bank.cards[each.card] for each in answers if each.score < ENOUGH]
    lines = [f"- {title(bank, card)} (read {bank.reading(card.subject, card.chapter)})" for card in cards]
    return "\n".join(["Not right, so these come again soon:", "", *lines]) if lines else ""


def weakest(bank: Bank, every: Sequence[Answer]) -> str:
    """The subjects of all answers that go worst: those of several answers, or of one that missed nearly all."""
    of: dict[str, list[Answer]] = {}
    for each in sorted(every, key=lambda answer: answer.when):
        if each.card in bank.cards:
            of.setdefault(bank.cards[each.card].subject, []).append(each)
    shares = {subject: sum(each.score for each in given) / len(given) for subject, given in of.items()}
    weak = weakness(every, bank.cards)
    found = [each for each, share in shares.items() if share < (ENOUGH if len(of[each]) > 1 else CLEAR)]
    lines = []
    for subject in sorted(found, key=lambda each: (-weak[each], -of[each][-1].when))[:LISTED]:
        answers, chapter = of[subject], bank.cards[of[subject][-1].card].chapter
        count = "the only answer" if len(answers) == 1 else f"{len(answers)} answers"
        told = f"{shares[subject]:.0%} of the points in {count}. Read {bank.reading(subject, chapter)}."
        lines.append(f"- {bank.heading(subject, chapter)}: {told}")
    said = (
        "Your weakest topics, by the share of points in all answers about each so far; their questions come more often:"
    )
    return "\n".join([said, "", *lines]) if lines else ""
