"""The rounds: what each draws, how long an answer may take, and the conversation about it."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from course.authoring.rebuild import back_up
from course.files import Course, write_atomically
from course.interview import estimates, faults, judged, programs
from course.interview.bank import Bank, split
from course.interview.calibration import LEVELS
from course.interview.cards import Card, Point
from course.interview.clock import Clock, Watch, spoken
from course.interview.fault import Fault
from course.interview.history import Answer, Item, folder
from course.interview.prompts import Choose, Edit, Prompt, Say, Talk, Tick, Write
from course.learner.practice import Exercise
from course.parsed import parsed

SURE = (
    "almost certainly wrong (10 %)",
    "probably wrong (30 %)",
    "even odds (50 %)",
    "probably right (70 %)",
    "almost certainly right (90 %)",
)


@dataclass
class Asking:
    """An item while it is asked: its cards, its random numbers and its watch."""

    bank: Bank
    item: Item
    cards: Sequence[Card]
    watch: Watch
    clock: Clock

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
    """One kind of round: the `kinds` of cards it draws, the `seconds` for an item, and its `share` of 45 minutes."""

    name: ClassVar[str]
    title: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    seconds: ClassVar[float]
    share: ClassVar[float]
    """In minutes."""
    together: ClassVar[int] = 1
    """How many cards make one item."""

    @abstractmethod
    def talk(self, asking: Asking) -> Talk:
        """Ask, and say what came of it."""

    def items(self, order: Sequence[Card], minutes: float, rng: np.random.Generator) -> list[Item]:
        """What is asked in so many minutes: at least one item, and no card twice."""
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
    reply = yield Choose(text, SURE)
    return LEVELS[reply]


def a_line(text: str, label: str) -> Generator[Prompt, Any, str]:
    """Ask for a line until there is one: a slip of the Enter key is no answer."""
    given = str((yield Write(text, label)))
    while not given.strip():
        given = str((yield Write("The line is empty. Once more:", label, True)))
    return given


class RapidFire(Round):
    """One line, one answer."""

    name, title, kinds, seconds, share = "rapid", "Rapid fire", ("line",), 20, 3

    def talk(self, asking: Asking) -> Talk:
        card = asking.card
        sure = yield from how_sure(f"*{asking.subject}*\n\n**{card.words}**\n\nSay it aloud. How sure are you?")
        asking.watch.stop()
        told = yield Choose(f"{not_a_list(card.points[0].text)}\n\n{timed(asking)}Were you right?", ("yes", "no"))
        return [asking.answer(float(told == 0), sure)]


def followed_up(asking: Asking, points: Sequence[Point]) -> Generator[Prompt, Any, list[bool]]:
    """Ask what an interviewer asks next, each question answered aloud, and then which of the points were made."""
    for point in points:
        if asked := _follow_up(point):
            yield Choose(asked, ("I have answered",))
    asking.watch.stop()
    told = tuple(f"*{point.label}:* {point.text}" for point in points)
    ticked: list[bool] = yield Tick(f"{timed(asking)}Which of these points did you make?", told)
    return ticked


def _follow_up(point: Point) -> str:
    """The question that a point answers; empty if it answers the one that was asked first."""
    match point.label:
        case "Cost":
            return "What does it cost, **in time and memory**?"
        case "They ask next":
            asked, _ = split(point.text)
            return f"They ask next: **{asked}**" if asked else ""
        case "The trap":
            return "Where is the trap: **what do people get wrong here?**"
    return ""


class Explain(Round):
    """A question of an interview: thirty seconds, then what they ask next, then the trap."""

    name, title, kinds, seconds, share = "explain", "Explain", ("question",), 150, 8

    def talk(self, asking: Asking) -> Talk:
        card = asking.card
        sure = yield from how_sure(
            f"*{asking.subject}*\n\n**{card.words}**\n\nThirty seconds, aloud. How sure are you of your answer?"
        )
        ticked = yield from followed_up(asking, card.points)
        proofs = asking.bank.proofs(card)
        if proofs and (yield Choose("", ("go on", "show the cell that proves it"))) == 1:
            for proof in proofs:
                printed = f"\n\n```text\n{proof.printed}\n```" if proof.printed else ""
                yield Say(f"`notebooks/{proof.chapter}.ipynb`\n\n```python\n{proof.source}\n```{printed}")
        short = card.points[0].label  # the confidence was about the thirty seconds alone
        right = all(on for on, point in zip(ticked, card.points, strict=True) if point.label == short)
        return [asking.answer(sum(ticked) / len(ticked), sure, right=right)]


class Predict(Round):
    """What does a program show? Its numbers are new each time; exercises of the course come, too."""

    name, title, kinds, seconds, share = "predict", "Predict", ("program", "predict"), 120, 4

    def talk(self, asking: Asking) -> Talk:
        card = asking.card
        talk = self._program if card.kind == "program" else self._exercise
        return (yield from talk(asking, card.about))

    def _program(self, asking: Asking, program: programs.Program) -> Talk:
        text = program.drawn(asking.rng)
        given = yield from a_line(f"What is the value of the last line?\n\n```python\n{text}\n```", "value")
        sure = yield from how_sure("How sure are you?")
        asking.watch.stop()
        right = programs.run(text)
        correct = programs.same(given, right)
        verdict = "Right" if correct else f"No: it is `{right}`"
        yield Say(f"**{verdict}.** {program.says} {timed(asking)}")
        return [asking.answer(float(correct), sure)]

    def _exercise(self, asking: Asking, exercise: Exercise) -> Talk:
        task = task_of(asking.bank, exercise)
        given = yield from a_line(f"{task}\n\nWrite what `prediction` is, as a Python value.", "prediction =")
        sure = yield from how_sure("How sure are you?")
        asking.watch.stop()
        yield Say("Checking …")
        verdict = judged.exercise(asking.bank.course, exercise, f"prediction = {given}", asking.item.seed)
        yield Say(f"**{'Right' if not verdict.message else 'Not right'}.** {verdict.message}\n\n{timed(asking)}")
        return [asking.answer(verdict.score, sure)]


class Whiteboard(Round):
    """An exercise, written in a file of its own and graded as always; before the verdict, its cost and follow-ups."""

    name, title, kinds, seconds, share = "whiteboard", "Whiteboard", ("whiteboard",), 900, 15
    extra: ClassVar[float] = 180
    """How many more seconds the questions about an answer take."""

    def allowed(self, cards: Sequence[Card]) -> float:
        """The minutes that the problem's notebook says, and the extra where there are questions."""
        exercise: Exercise = cards[0].about
        return 60 * exercise.minutes + self.extra * bool(cards[0].points)

    def talk(self, asking: Asking) -> Talk:
        exercise: Exercise = asking.card.about
        path = folder(asking.bank.course) / f"{exercise.name}.py"
        begin(path, exercise.stub)
        task = task_of(asking.bank, exercise)
        given = definitions(exercise, task)
        shown = f"The notebook has defined:\n\n```python\n{given}\n```\n\n" if given else ""
        points = _rungs(asking.card.points, asking.rng)
        told = f"{task}\n\n{shown}{_whose(exercise)}Say aloud what goes in and what comes out before you write."
        if points and asking.watch.timed:
            told += f" {spoken(self.extra)} of the time are for questions about your answer, which come afterwards."
        yield from written(told, path)
        answer = path.read_text(encoding="utf-8")
        made = (yield from followed_up(asking, points)) if points else []
        asking.watch.stop()
        yield Say("Checking on fresh inputs …")
        verdict = judged.exercise(asking.bank.course, exercise, answer, asking.item.seed)
        message = verdict.message.replace("\n", "\n\n")
        where = kept(asking.bank.course, path)
        if verdict.points < verdict.of:
            where += f" The exercise is `{exercise.name}` in `exercises/{exercise.chapter}.ipynb`."
        aloud = f" Of the {len(made)} questions about it you answered {sum(made)}." if made else ""
        yield Say(f"**{verdict.points} of {verdict.of} points.**{aloud} {message}\n\n{timed(asking)}{where}")
        solution = solution_of(asking.bank, exercise) if verdict.points < verdict.of else ""
        if solution and (yield Choose("", ("go on", "show a solution"))) == 1:
            yield Say(f"```python\n{solution}\n```")
        score = 0.75 * verdict.score + 0.25 * sum(made) / len(made) if made else verdict.score
        return [asking.answer(score)]


def _rungs(points: Sequence[Point], rng: np.random.Generator) -> list[Point]:
    """The cost, and two of the follow-ups, in their order."""
    nexts = [place for place, point in enumerate(points) if point.label == "They ask next"]
    drawn = {*rng.permutation(nexts)[:2].tolist()}
    return [point for place, point in enumerate(points) if place in drawn or place not in nexts]


class Debug(Round):
    """A program with four faults, each known by its symptom alone."""

    name, title, kinds, seconds, share, together = "debug", "Debug", ("fault",), 1200, 20, 4

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
        told = (
            f"This program {does}, and has four faults. What was reported, each time of the "
            "program with that fault alone:\n\n"
            f"{reports}\n\nThink aloud. Fix the program, keep the names of its functions, and leave a test for each "
            "fault: a `test_…` function in the file that passes on your program and fails on one with this fault "
            "alone. A fix is worth three quarters, its test a quarter. "
            f"`python -i {path.name}` loads it, and {begins}."
        )
        yield from written(told, path)
        asking.watch.stop()
        yield Say("Looking for the faults …")
        mended = judged.mended(path, [card.about.name for card in asking.cards])
        gone = [card for card in asking.cards if not mended.complaints[card.about.name]]
        guarded = [card for card in asking.cards if card.about.name in mended.guarded]
        lines = [self._line(card, mended.complaints[card.about.name], card in guarded) for card in asking.cards]
        tests = f"Faults that a test of yours sees: {len(guarded)}"
        if mended.other:
            names = ", ".join(f"`{name}`" for name in mended.other)
            tests += f". Tests that see none, since they don't fail with a fault and pass without: {names}"
        score = f"**{len(gone)} of {len(asking.cards)} faults found.** {tests}. {timed(asking)}"
        yield Say("\n\n".join([score, *lines, kept(asking.bank.course, path)]))
        return [asking.answer(0.75 * (card in gone) + 0.25 * (card in guarded), card=card) for card in asking.cards]

    def _line(self, card: Card, complaint: str, is_guarded: bool) -> str:
        fault: Fault = card.about
        if not complaint:
            return f"✓ *{fault.name}.* {fault.says} {'A' if is_guarded else 'No'} test of yours sees it."
        return f"✗ *{fault.name}.* {fault.says} `{fault.sees.__name__}`: {complaint}."


class Estimates(Round):
    """Numbers for the back of an envelope."""

    name, title, kinds, seconds, share = "estimate", "Estimate", ("estimate",), 120, 4

    def talk(self, asking: Asking) -> Talk:
        estimate: estimates.Estimate = asking.card.about
        numbers, told = estimate.drawn(asking.rng), estimate.task(asking.card.about.drawn(asking.rng))
        given, again = None, False
        while given is None:
            reply = yield Write(told, estimate.unit, again)
            try:
                given = estimates.number(reply, estimate.unit)
            except ValueError as error:
                told, again = f"{error}. Once more:", True
        sure = yield from how_sure("How sure are you?")
        asking.watch.stop()
        correct = estimate.is_close(given, numbers)
        said = f"You said {estimate.amount(given)}."
        yield Say(f"**{'Close enough' if correct else 'No'}.** {said} {estimate.says(numbers)}. {timed(asking)}")
        return [asking.answer(float(correct), sure)]


ROUNDS: dict[str, Round] = {
    each.name: each for each in (RapidFire(), Explain(), Predict(), Estimates(), Whiteboard(), Debug())
}
"""In the order of a whole interview."""


def begin(path: Path, text: str) -> None:
    """Write the file that a round is about; one that is there already, from a round that was interrupted, stays."""
    if not path.exists():
        write_atomically(path, text.rstrip() + "\n")


def written(told: str, path: Path) -> Generator[Prompt, Any, None]:
    """Have a file edited; once more if it isn't Python, since a slip of the pen shouldn't cost the round."""
    yield Edit(told, path)
    try:
        compile(path.read_bytes(), path.name, "exec")
    except (SyntaxError, ValueError) as error:
        counts = "Fix that; the next time, the file counts as it is."
        yield Edit(f"The file isn't valid Python yet: `{type(error).__name__}: {error}`. {counts}", path, again=True)


def kept(course: Course, path: Path) -> str:
    """Put what was written into `my/backups`, so that the next time begins anew, and say where it is."""
    copy = back_up(course, path)
    path.unlink()
    return f"What you wrote is kept in `{copy.relative_to(course.root)}`."


def _whose(exercise: Exercise) -> str:
    """Which parts of mytorch an exercise writes; empty if it writes none."""
    parts = [part.partition(":") for part in exercise.kind.parts]
    if not parts:
        return ""
    names = _listed(f"`{name}`" for _, _, name in parts)
    modules = _listed(dict.fromkeys(f"`{module}`" for module, _, _ in parts))
    return f"You write {names} of {modules}; what that module imports and defines can be used as it is. "


def _listed(names: Iterable[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def not_a_list(text: str) -> str:
    """Markdown that shows an answer such as `1.` as it is, and not as the beginning of a list."""
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)


def task_of(bank: Bank, exercise: Exercise) -> str:
    """The text of an exercise's task, without its heading and the line about points."""
    from course.authoring.notebook import exercise_of, role, v4

    notebook = v4.reads((bank.course.pristine / f"{exercise.chapter}.ipynb").read_text(encoding="utf-8"))
    source = next(cell.source for cell in notebook.cells if role(cell) == "task" and exercise_of(cell) == exercise.name)
    title, _, rest = source.rpartition("\n\n*")[0].partition("\n")
    return f"**{title.lstrip('# ').partition(' · ')[2]}**\n\n{rest.strip()}"


def definitions(exercise: Exercise, task: str) -> str:
    """The classes and functions of the notebook's first cells that a task or its stub names, as they stand there."""
    asked = set(re.findall(r"\w+", f"{task}\n{exercise.stub}"))
    found = []
    for source in exercise.setup:
        lines = source.splitlines()
        for node in parsed(source).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in asked:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n\n".join(found)


def solution_of(bank: Bank, exercise: Exercise) -> str:
    """The course's answer to an exercise; empty where the course has no solutions."""
    from course.authoring.notebook import exercise_of, role, v4

    path = bank.course.solutions / f"{exercise.chapter}.ipynb"
    cells = v4.reads(path.read_text(encoding="utf-8")).cells if path.exists() else ()
    found = next(
        (str(each.source) for each in cells if (role(each), exercise_of(each)) == ("solution", exercise.name)), ""
    )
    return re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", found, flags=re.MULTILINE).rstrip()


def title(bank: Bank, card: Card) -> str:
    """What a card is called in a list of those that weren't right."""
    if isinstance(card.about, Exercise):
        return f"the exercise *{task_of(bank, card.about).partition('**')[2].partition('**')[0]}*"
    return f"*{card.about.name}*" if isinstance(card.about, Fault) else card.words


def timed(asking: Asking) -> str:
    """How long the answer took, with a full stop; empty without a clock."""
    said = asking.watch.said()
    return f"{said}. " if said else ""
