"""How an interview went: what was asked, what it earned and what to read; and how confident the learner was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from course.interview import calibration, record
from course.interview.bank import Bank
from course.interview.cards import Card
from course.interview.history import Answer
from course.interview.prompts import Say
from course.interview.rounds import ROUNDS, title
from course.interview.schedule import ENOUGH

CLEAR = 1 / 3
"""A single answer says that a section is weak only with less than this share of its points."""
LISTED = 3


def summary(
    bank: Bank, answers: Sequence[Answer], every: Sequence[Answer], unasked: Sequence[str] = ()
) -> Iterator[Say]:
    """What is said at the end.

    Args:
        bank: with the cards.
        answers: of this interview.
        every: of all interviews, this one included.
        unasked: the rounds of which items are left, since the minutes are over.
    """
    if not answers:
        yield Say("Nothing was asked.")
        return
    over = f"The minutes were over before all was asked of: {', '.join(unasked)}." if unasked else ""
    yield Say("\n\n".join(filter(None, [table(bank, answers), over, weakest(bank, every)])))
    if pairs := calibration.pairs(answers):
        said = (
            "Right means two thirds of an answer's points, in *Explain* the thirty-second answer, and in *Predict* "
            "every value."
        )
        yield Say(f"{calibration.verdict(pairs)} {said} Brier score {calibration.brier(pairs):.2f}; 0 is best.")
        found = calibration.levels(pairs)
        yield Say(f"```text\n{calibration.bars(found)}\n```", picture=lambda: calibration.curve(found))


def table(bank: Bank, answers: Sequence[Answer]) -> str:
    """What was asked, by rounds, what share of its points it earned, and what to read where some were lost."""
    lines = ["## How it went", "", "| asked | earned | read |", "|---|---|---|"]
    for name, each in ROUNDS.items():
        of = [answer for answer in answers if answer.round == name]
        if of:
            lines.append(f"| **{each.title}** | **{_earned(sum(answer.score for answer in of) / len(of))}** | |")
        for answer in of:
            card = bank.cards[answer.card]
            marks = [_earned(answer.score), *filter(None, [record.time(answer), "late" * answer.late])]
            read = bank.reading(card) if answer.score < 1 else ""
            asked = title(bank, card).replace("|", r"\|").replace("\n", " ")
            lines.append(f"| {asked} | {', '.join(marks)} | {read} |")
    again = any(answer.score < ENOUGH for answer in answers)
    told = "What earned less than two thirds of its points comes again soon." if again else ""
    return "\n".join([*lines, "", told]).rstrip()


def weakest(bank: Bank, every: Sequence[Answer]) -> str:
    """The sections of all answers that go worst: those of several answers, or of one that missed nearly all."""
    of: dict[tuple[str, str], list[tuple[Answer, Card]]] = {}
    for each in sorted(every, key=lambda answer: answer.when):
        if card := bank.cards.get(each.card):
            of.setdefault(bank.place(card), []).append((each, card))
    found = []
    for given in of.values():
        count = len(given)
        share = sum(answer.score for answer, _ in given) / count
        if share < (ENOUGH if count > 1 else CLEAR):
            weakness = (1 + count * (1 - share)) / (2 + count)  # as if one of two more answers had lost its points
            found.append((weakness, given[-1][0].when, share, given))
    lines = [
        f"- {bank.reading(given[-1][1])}: {_earned(share)} of the points of "
        f"{'the only answer' if len(given) == 1 else f'{len(given)} answers'}"
        for _, _, share, given in sorted(found, key=lambda each: each[:2], reverse=True)[:LISTED]
    ]
    return "\n".join(["The sections that lost most in all your interviews so far:", "", *lines]) if lines else ""


def _earned(share: float) -> str:
    return f"{100 * share:.0f} %"
