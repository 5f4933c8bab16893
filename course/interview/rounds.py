"""The rounds: what each draws, how long an answer may take, and the conversation about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from course.files import Course, write_atomically
from course.interview import faults, judged, own_words, tasks, verdicts
from course.interview.asking import Asking, Round, how_sure, is_pass, timed
from course.interview.bank import Bank, split
from course.interview.cards import Card, Point
from course.interview.clock import spoken
from course.interview.fault import Fault
from course.interview.history import Item, folder
from course.interview.lines import Estimates, Predict
from course.interview.prompts import Choose, Edit, Prompt, Say, Speak, Talk, Tick, Wait
from course.interview.twins import is_asked
from course.learner.practice import Exercise
from course.notebooks.rebuild import back_up


class RapidFire(Round):
    """One line, one answer."""

    name, title, kinds, seconds, share, most = "rapid", "Rapid fire", ("line",), 20, 2, 2

    def talk(self, asking: Asking) -> Talk:
        card = asking.card
        sure = yield from how_sure(f"*{asking.subject}*\n\n**{card.words}**\n\nSay it aloud. How sure are you?")
        asking.watch.stop()
        told = yield Choose(f"{not_a_list(card.points[0].text)}\n\n{timed(asking)}Were you right?", ("yes", "no"))
        if told == 1:
            why = f"**Why:** {card.about} " if card.about else ""
            yield Say(f"{why}It is taught in {asking.bank.reading(card)}.")
        return [asking.answer(float(told == 0), sure)]


def followed_up(asking: Asking, points: Sequence[Point], first: str = "") -> Generator[Prompt, Any, list[bool]]:
    """Ask what an interviewer asks next, each question answered aloud, and then which of the points were made.

    Args:
        first: what somebody typed of the answer to the question that was asked first.
    """
    told = list[str]()
    for point in points:
        asked = _follow_up(point, asking.card.words)
        own = str((yield Speak(asked))) if asked else ""
        own = "" if is_pass(own) else own
        said = [f"*{point.label}:* {point.text}", own_words.wrote(own), _beside(point, own if asked else first)]
        told.append("\\\n".join(filter(None, said)))
    asking.watch.stop()
    trap = ", and so does another trap that is a real one" if any(each.label == "The trap" for each in points) else ""
    counts = f"Which of these points did you make? Your own words count{trap}."
    asks = f"{timed(asking)}{counts}"
    ticked: list[bool] = yield Tick("\n\n".join(filter(None, [own_words.wrote(first), asks])), tuple(told))
    return ticked


def _beside(point: Point, own: str) -> str:
    """What is said beside a point about the words that somebody typed."""
    return own_words.beside(split(point.text)[1] if point.label == "They ask next" else point.text, own)


_SEARCH = re.compile(
    r"where do you look|what (do you (do|look for|check|suspect)|now|then|happened)\b|how do you find the"
    r"|is (something broken|that a bug)\?",
    re.IGNORECASE,
)
"""What a question asks that is about a symptom: its trap is a wrong step on the way to the cause."""


def _follow_up(point: Point, words: str) -> str:
    """The question that a point answers; empty if it answers the one that was asked first.

    Args:
        words: the question that was asked first.
    """
    match point.label:
        case "Cost":
            return "What does it cost, **in time and memory**?"
        case "They ask next":
            asked, _ = split(point.text)
            return f"They ask next: **{asked}**" if asked else ""
        case "The trap":
            if _SEARCH.search(words):
                return "The trap: **which step or fix looks reasonable here, and why does it miss or hide the cause?**"
            return "The trap: **what do people often get wrong here, and why?**"
    return ""


class Explain(Round):
    """A question of an interview: thirty seconds, then what they ask next, then the trap."""

    name, title, kinds, seconds, share, most = "explain", "Explain", ("question",), 150, 12, 1

    def talk(self, asking: Asking) -> Talk:
        card = asking.card
        about = " · ".join([asking.subject, *([card.section] if card.section else [])])
        first = str((yield Speak(f"*{about}*\n\n**{card.words}**\n\nThirty seconds, aloud.")))
        if is_pass(first):
            asking.watch.stop()
            yield Say("\n\n".join(f"*{point.label}:* {point.text}" for point in card.points))
            sure, ticked = None, [False] * len(card.points)
        else:
            sure = yield from how_sure("How sure are you of your answer?")
            ticked = yield from followed_up(asking, card.points, first)
        proofs = asking.bank.proofs(card)
        if proofs and (yield Choose("", ("go on", "show the cell that proves it"))) == 1:
            for proof in proofs:
                printed = f"\n\n```text\n{proof.printed}\n```" if proof.printed else ""
                yield Say(f"`notebooks/{proof.chapter}.ipynb`\n\n```python\n{proof.source}\n```{printed}")
        short = card.points[0].label  # the confidence was about the thirty seconds alone
        right = all(on for on, point in zip(ticked, card.points, strict=True) if point.label == short)
        return [asking.answer(sum(ticked) / len(ticked), sure, right=right)]


class Whiteboard(Round):
    """An exercise, written in a file of its own and graded as always; before the verdict, its cost and follow-ups."""

    name, title, kinds, seconds, share = "whiteboard", "Whiteboard", ("whiteboard",), 900, 15
    extra: ClassVar[float] = 180
    """How many more seconds the questions about an answer take."""
    longest: ClassVar[float] = (1500 + extra) / (45 * 60)
    """The part of the whole interview that its first problem may take: 25 minutes of 45, and the questions."""

    def items(self, order: Sequence[Card], minutes: float, whole: float, rng: np.random.Generator) -> list[Item]:
        """The first problem that fits into the interview, and those after it that fit into this round's minutes."""
        left, chosen = 60 * minutes, list[Card]()
        for card in order:
            if (needed := self.allowed([card])) <= (left if chosen else max(1.1 * left, self.longest * 60 * whole)):
                chosen.append(card)
                left -= needed
        short = [card for card in order if self.allowed([card]) <= self.seconds]
        chosen = chosen or short[:1] or [min(order, key=lambda card: self.allowed([card]))]
        return [Item(self.name, [card.name], int(rng.integers(2**31))) for card in chosen]

    def allowed(self, cards: Sequence[Card]) -> float:
        """The minutes that the problem's notebook says, and the extra where there are questions."""
        exercise: Exercise = cards[0].about
        return 60 * exercise.minutes + self.extra * bool(cards[0].points)

    def talk(self, asking: Asking) -> Talk:
        exercise: Exercise = asking.card.about
        with judged.Judge(asking.bank.course, exercise, asking.item.seed) as judge:
            return (yield from self._held(asking, exercise, judge))

    def _held(self, asking: Asking, exercise: Exercise, judge: judged.Judge) -> Talk:
        course = asking.bank.course
        path, hints = folder(course) / f"{exercise.name}.py", tasks.hints_of(course, exercise)
        begin(path, tasks.stub_of(exercise))
        points = _rungs(asking.card.points, asking.every, asking.rng)
        told = _begun(course, exercise, hints)
        if points and asking.watch.timed:
            told += f" {spoken(self.extra)} of the time are for questions about your answer, which come afterwards."
        taken = yield from written(told, path, hints)
        took = None if asking.watch.running is None else round(asking.watch.running, 1)
        made = (yield from followed_up(asking, points)) if points else []
        asking.watch.stop()
        verdict, answer = yield from self._checked(asking, exercise, judge, path, partial(_worth, made, taken))
        score, solution = verdict.score, tasks.solution_of(course, exercise)
        options = ["go on", *(["show a solution"] if solution else []), "fix it, for half of what it adds"]
        if score < 1 and (chosen := (yield Choose("", tuple(options)))) == len(options) - 1:
            begin(path, answer)
            taken += yield from written("What does that tell you? Fix your answer.", path, hints[taken:])
            worth = partial(_worth, made, taken, before=score)
            verdict, _ = yield from self._checked(asking, exercise, judge, path, worth)
            score = _halved(verdict.score, score)
            chosen = 0 if verdict.score == 1 or not solution else (yield Choose("", ("go on", "show a solution")))
        if verdict.score < 1 and chosen:
            yield Say(f"```python\n{solution}\n```")
        given = asking.answer(_score(made, taken, score))
        return [replace(given, took=took, stated=60.0 * exercise.minutes)]

    def _checked(
        self, asking: Asking, exercise: Exercise, judge: judged.Judge, path: Path, worth: Callable[[float], str]
    ) -> Generator[Prompt, Any, tuple[judged.Verdict, str]]:
        """Check the file on fresh inputs and tell the verdict, with what it is worth. Returns it and the answer.

        An answer that lacks a name is handed back once: which names there are is no part of the question.
        """
        for is_last in (False, True):
            answer = path.read_text(encoding="utf-8")
            verdict: judged.Verdict = yield Wait("Checking on fresh inputs …", partial(judge.check, answer))
            if is_last or not (name := tasks.missing(verdict.message)):
                break
            name = name if name in answer else name.removeprefix("mini")  # that is what its `import torch` brought
            names = tasks.in_scope(asking.bank.course, exercise)
            yield from written(verdicts.unknown(name, names, verdict.message), path)
        known = [says for _, says in tasks.known_mistakes(asking.bank.course, exercise)]
        message = verdicts.laid_out(verdicts.unearned(verdict.message), known)
        where = kept(asking.bank.course, path)
        if verdict.points < verdict.of:
            where += f" The exercise is `{exercise.name}` in `exercises/{exercise.chapter}.ipynb`."
        more = verdict.score > verdict.points / verdict.of
        parts = f" {verdicts.by_part(verdict.parts)}" if verdict.parts and more else ""
        parts += f" {verdict.cases}" if verdict.cases else ""
        points = f"{verdict.score * verdict.of:.2g}"
        told = f"**{points} of {verdict.of} points.**{parts}\n\n{worth(verdict.score)}\n\n{message}"
        yield Say(f"{told}\n\n{timed(asking)}{where}")
        return verdict, answer


def _halved(score: float, before: float | None) -> float:
    """What a program is worth; half of what a fix added to the score before."""
    return score if before is None else (before + max(before, score)) / 2


def _score(made: Sequence[bool], taken: int, program: float) -> float:
    """What an answer earns: the program, less a tenth for each hint; a quarter is for the questions about it."""
    left = max(0.0, program - 0.1 * taken)
    return 0.75 * left + 0.25 * sum(made) / len(made) if made else left


def _worth(made: Sequence[bool], taken: int, score: float, before: float | None = None) -> str:
    """A line that leads from what a program is worth to what the answer earns."""
    program = _halved(score, before)
    told = "Your program" if before is None else "Half of what the fix added counts, so your program"
    told += f" is worth {100 * program:.0f} %"
    told += f", less {10 * taken} % for {taken} hint{'s' * (taken > 1)}." if taken else "."
    if made:
        told += f" Of the {len(made)} questions about it you answered {sum(made)}; they are a quarter of the score."
    return f"{told} Your score is **{100 * _score(made, taken, program):.0f} %**."


def _begun(course: Course, exercise: Exercise, hints: Sequence[str]) -> str:
    """What is told before the first line is written."""
    task = tasks.asked(course, exercise)
    given = tasks.definitions(exercise, task)
    shown = f"The notebook has defined:\n\n```python\n{given}\n```\n\n" if given else ""
    costs = f" There are {len(hints)} hints, which cost a tenth of the score each." if hints else ""
    return f"{task}\n\n{shown}{tasks.whose(exercise)}Say aloud what goes in and what comes out before you write.{costs}"


def _rungs(points: Sequence[Point], asked: Sequence[Card], rng: np.random.Generator) -> list[Point]:
    """The cost, and two of the follow-ups, in their order: of those that no card of the interview asks."""
    nexts = [place for place, point in enumerate(points) if point.label == "They ask next"]
    fresh = [place for place in nexts if not is_asked(split(points[place].text)[0], asked)]
    drawn = {*rng.permutation(fresh)[:2].tolist()}
    return [point for place, point in enumerate(points) if place in drawn or place not in nexts]


class Design(Round):
    """An open question at the whiteboard; the interviewer changes a condition, and a rubric says what was missing."""

    name, title, kinds, seconds, share = "design", "Design", ("design",), 480, 8
    is_optional = True

    def talk(self, asking: Asking) -> Talk:
        card, design = asking.card, asking.card.about
        told = (
            f"*{asking.subject}*\n\n**{design.title}**\n\n{design.said}\n\nThink aloud and draw: what you would ask "
            "first, the numbers, the parts, what fails, and how you know that it works."
        )
        first = str((yield Speak(told)))
        sure = yield from how_sure("How sure are you of it?")
        ticked = yield from followed_up(asking, card.points, first)
        return [asking.answer(sum(ticked) / len(ticked), sure)]


class Debug(Round):
    """A program with up to four faults, each known by its symptom alone."""

    name, title, kinds, seconds, share, together = "debug", "Debug", ("fault",), 300, 20, 4

    def items(self, order: Sequence[Card], minutes: float, whole: float, rng: np.random.Generator) -> list[Item]:
        """Programs with four faults each; one with fewer, where the minutes don't suffice for four."""
        count = max(1, round(minutes * 60 / self.seconds))
        groups = [group[:count] for group in self.groups(order)[: max(1, count // self.together)]]
        return [Item(self.name, [card.name for card in group], int(rng.integers(2**31))) for group in groups]

    def allowed(self, cards: Sequence[Card]) -> float:
        """Five minutes for each fault."""
        return self.seconds * len(cards)

    def groups(self, order: Sequence[Card]) -> list[Sequence[Card]]:
        """Four faults of one program that don't hide each other, and then the next four.

        It is the program whose four are together first, so what stands last in the order is asked where nothing else is
        left.
        """
        left, found = list(order), list[Sequence[Card]]()
        while groups := [group for name in faults.PROGRAMS if len(group := self._group(left, name)) == self.together]:
            found.append(min(groups, key=lambda group: left.index(group[-1])))
            left = [card for card in left if card not in found[-1]]
        return found

    def _group(self, order: Sequence[Card], program: str) -> list[Card]:
        """The first faults of an order that can be in this program together."""
        by_name = {card.about.name: card for card in order if card.about.program == program}
        return [by_name[fault.name] for fault in faults.together([c.about for c in by_name.values()], self.together)]

    def talk(self, asking: Asking) -> Talk:
        program = asking.card.about.program
        path = folder(asking.bank.course) / f"{program}.py"
        does, begins = faults.PROGRAMS[program]
        begin(path, faults.spelled(faults.planted(card.about for card in asking.cards), asking.rng))
        reports = "\n".join(f"{place}. {card.words}" for place, card in enumerate(asking.cards, 1))
        many = {1: "one fault", 2: "two faults", 3: "three faults"}.get(len(asking.cards), "four faults")
        told = (
            f"This program {does}, and has {many}. What was reported, each time of the program with that fault "
            "alone:\n\n"
            f"{reports}\n\nThink aloud. Fix the program, keep the names of its functions, and leave a test for each "
            "fault: a `test_…` function in the file that passes on your program and fails on one with this fault "
            "alone. A fix is worth three quarters, its test a quarter. "
            f"`python -i {path.name}` loads it, and {begins}."
        )
        yield from written(told, path)
        asking.watch.stop()
        faulty = [card.about.name for card in asking.cards]
        mended: judged.Mended = yield Wait(
            "Looking for the faults …", lambda _: judged.mended(path, faulty, asking.item.seed)
        )
        gone = [card for card in asking.cards if mended.is_fixed(card.about.name)]
        guarded = [card for card in asking.cards if card.about.name in mended.guarded]
        lines = [self._line(card.about, mended, card in guarded) for card in asking.cards]
        tests = f"Faults that a test of yours sees: {len(guarded)}"
        if mended.other:
            tests += f". Tests that see none, since they also pass with each of the faults: {_names(mended.other)}"
        if mended.failing:
            tests += f". Tests that fail on your own program: {_names(mended.failing)}"
        score = f"**{len(gone)} of {len(asking.cards)} faults fixed.** {tests}. {timed(asking)}"
        lines += [f"Besides, {each}. None of the planted faults does that." for each in mended.besides]
        yield Say("\n\n".join([score, *lines, kept(asking.bank.course, path)]))
        return [asking.answer(0.75 * (card in gone) + 0.25 * (card in guarded), card=card) for card in asking.cards]

    def _line(self, fault: Fault, mended: judged.Mended, is_guarded: bool) -> str:
        told = f"*{fault.name}.* {fault.says}"
        if mended.is_fixed(fault.name):
            return f"✓ {told} {'A' if is_guarded else 'No'} test of yours sees it."
        if complaint := mended.complaints[fault.name]:
            return f"✗ {told} `{fault.sees.__name__}`: {complaint}."
        return f"✗ {told} The symptom is gone, but {mended.half[fault.name]}."


ROUNDS: dict[str, Round] = {
    each.name: each for each in (RapidFire(), Explain(), Predict(), Estimates(), Whiteboard(), Design(), Debug())
}
"""In the order of a whole interview."""


def begin(path: Path, text: str) -> None:
    """Write the file that a round is about; one that is there already, from a round that was interrupted, stays."""
    if not path.exists():
        write_atomically(path, text.rstrip() + "\n")


def written(told: str, path: Path, hints: Sequence[str] = ()) -> Generator[Prompt, Any, int]:
    """Have a file edited; once more if it isn't Python, since a slip of the pen shouldn't cost the round.

    Returns how many of the hints were asked for.
    """
    taken = int((yield Edit(told, path, hints=tuple(hints))) or 0)
    try:
        compile(path.read_bytes(), path.name, "exec")
    except (SyntaxError, ValueError) as error:
        counts = "Fix that; the next time, the file counts as it is."
        told = f"The file isn't valid Python yet: `{type(error).__name__}: {error}`. {counts}"
        taken += int((yield Edit(told, path, True, tuple(hints[taken:]))) or 0)
    return taken


def _names(tests: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in tests)


def kept(course: Course, path: Path) -> str:
    """Put what was written into `my/backups`, so that the next time begins anew, and say where it is."""
    copy = back_up(course, path)
    path.unlink()
    return f"What you wrote is kept in `{copy.relative_to(course.root)}`."


def not_a_list(text: str) -> str:
    """Markdown that shows an answer such as `1.` as it is, and not as the beginning of a list."""
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)


def title(bank: Bank, card: Card) -> str:
    """What a card is called in a list of those that weren't right."""
    if isinstance(card.about, Exercise):
        return f"the exercise *{tasks.task_of(bank.course, card.about).partition('**')[2].partition('**')[0]}*"
    return f"*{card.about.name}*" if isinstance(card.about, Fault) else card.words
