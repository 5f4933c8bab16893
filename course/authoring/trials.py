"""`course answers`, `course mutants`, `course spoilers`: wrong answers that score, correct ones that do not."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.authoring.corpus import FILE, Answer, read_answers
from course.authoring.equivalents import EQUIVALENTS, Equivalent, read_equivalents
from course.authoring.mutate import Mutation, mutants
from course.authoring.seen import every, seen
from course.authoring.spoil import spoilers
from course.chapters import PATTERN, key
from course.files import Course
from course.grading.report import Item
from course.grading.trial import Trial, tried
from course.learner.names import suggestion
from course.sandbox.launch import Limits
from course.source.exercises import ExerciseSource, Source, SourceError, read_exercises

_LIMITS = Limits()
_HASTY = Limits(cell_seconds=10)  # a mutant that loops forever is caught all the same


def chosen(course: Course, names: Iterable[str]) -> dict[Path, set[str]]:
    """The exercises with these names, or of the chapters with these names, by their chapter's source.

    Without any name all exercises are chosen.

    Raises:
        SourceError: nothing has such a name.
    """
    paths = sorted(path for path in course.chapters.glob("*/exercises.py") if re.match(PATTERN, path.parent.name))
    known = {
        path: set(re.findall(r'^# %% \[markdown\] exercise="(\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in paths
    }
    names = list(names)
    if not names:
        return known
    found: dict[Path, set[str]] = {}
    for name in names:
        fits = {
            p: all_ if name in (p.parent.name, str(key(p.parent.name))) else all_ & {name} for p, all_ in known.items()
        }
        if not any(fits.values()):
            close = suggestion(name, [*map(str, known), *set().union(*known.values())])
            raise SourceError(f"there is no chapter or exercise {name!r}{close}")
        for path, exercises in fits.items():
            if exercises:
                found[path] = found.get(path, set()) | exercises
    return found


@dataclass(frozen=True)
class Misjudged:
    """An answer that is wrong and lost no points, or is right and lost some; or the other way round, if it is open."""

    answer: Answer
    item: Item

    def __str__(self) -> str:
        answer, item = self.answer, self.item
        what = "right, but refused" if answer.is_right else "wrong, but scores"
        told = f"\n    {item.message}" if answer.is_right else ""
        if answer.is_open:
            what, told = "judged as it should be: it is not open any more", ""
        return (
            f"{answer.path.parent.name}/{answer.path.name}:{answer.line}: {answer.exercise}: "
            f"{what} ({item.points} of {item.max_points}): {answer.says}{told}"
        )


@dataclass(frozen=True)
class Found:
    """How many answers or mutants of a chapter were tried, and those that have to be dealt with.

    Mutants that are recorded as equivalent aren't counted. `stale` are the records that have to go.
    """

    name: str
    total: int
    found: Sequence[object]
    stale: Sequence[object] = ()


def misjudged(course: Course, names: Iterable[str], seed: int, jobs: int = 1) -> Iterator[Found]:
    """Grade the answers to these exercises, chapter by chapter.

    Raises:
        SourceError: a source breaks a rule, or nothing has such a name.
        ReferenceFailedError: a cell of a reference raised.
        SandboxError: a sandbox could not be started.
    """
    for path, exercises in chosen(course, names).items():
        source = read_exercises(path)
        answers = read_answers(path.parent / FILE, source, course.chapters / "mytorch")
        answers = [answer for answer in answers if answer.exercise in exercises]
        if not answers:
            continue
        with tried(source, course, seed, _LIMITS, jobs) as trial:
            items = trial.score([(answer.exercise, answer.text) for answer in answers])
        wrong = [
            Misjudged(answer, item)
            for answer, item in zip(answers, items, strict=True)
            if _is_judged(answer, item) == answer.is_open
        ]
        yield Found(source.chapter, len(answers), wrong)


def _is_judged(answer: Answer, item: Item) -> bool:
    """Whether a right answer has all its points, or a wrong one lost those of the parts that it spoils."""
    if answer.is_right:
        return item.points == item.max_points
    spoiled = [
        part
        for part in item.parts
        if {*answer.spoils} & {name.rpartition(".")[2].rpartition(":")[2] for name in part.names}
    ]
    return item.points < item.max_points and all(part.status != "passed" for part in spoiled)


@dataclass(frozen=True)
class Survivor:
    """A mutant of a reference answer that has full points."""

    exercise: str
    mutant: Mutation

    @property
    def record(self) -> Equivalent:
        """What `equivalent.yml` says of it, if it is recorded."""
        return self.exercise, self.mutant.was, self.mutant.becomes

    def __str__(self) -> str:
        return f"{self.exercise}\n{self.mutant}"


@dataclass(frozen=True)
class Stale:
    """A record in `equivalent.yml` of a mutant that is made no more, or that loses points."""

    record: Equivalent
    why: str

    def __str__(self) -> str:
        exercise, was, becomes = self.record
        return f"{exercise}: recorded as equivalent, but {self.why}\n{Mutation('', was, becomes)}"


def changed(exercise: ExerciseSource, trial: Trial | None = None) -> Iterator[Mutation]:
    """The mutants of an exercise's reference answer."""
    return mutants(exercise.solution.text) if exercise.solution else iter(())


def spoiled(exercise: ExerciseSource, trial: Trial | None = None) -> Iterator[Mutation]:
    """The spoilers of an exercise's reference answer; without a trial, all that could apply to an argument."""
    if exercise.solution is None or not exercise.kind.closed:
        return
    for each in [seen(trial, exercise)] if trial else [{}, *every(exercise)]:
        yield from spoilers(exercise.solution.text, exercise.task.text, each)


def unmade(source: Source, known: set[Equivalent]) -> list[Stale]:
    """The records for which the reference has neither a mutant nor a spoiler."""
    recorded = {record[0] for record in known}
    made = {
        Survivor(exercise.name, mutant).record
        for exercise in source.exercises
        if exercise.name in recorded
        for mutant in (*changed(exercise), *spoiled(exercise))
    }
    return [Stale(record, "no mutant is made of this") for record in sorted(known - made)]


def survivors(
    course: Course,
    names: Iterable[str],
    seed: int,
    jobs: int = 1,
    made: Callable[[ExerciseSource, Trial], Iterator[Mutation]] = changed,
) -> Iterator[Found]:
    """Grade wrong answers that are `made` from the reference of these exercises, chapter by chapter.

    Those that are recorded as equivalent are graded as well, because a record is stale once a check refuses them.

    Raises:
        SourceError: a source breaks a rule, or nothing has such a name.
        ReferenceFailedError: a cell of a reference raised.
        SandboxError: a sandbox could not be started.
    """
    for path, exercises in chosen(course, names).items():
        source = read_exercises(path)
        known = {each for each in read_equivalents(path.parent / EQUIVALENTS, source) if each[0] in exercises}
        written = [each for each in source.exercises if each.name in exercises and each.kind.is_code]
        stale = unmade(source, known)
        if not written and not stale:
            continue
        with tried(source, course, seed, _HASTY, jobs) as trial:
            tasks = [Survivor(exercise.name, mutant) for exercise in written for mutant in made(exercise, trial)]
            items = trial.score([(task.exercise, task.mutant.text) for task in tasks], by_part=False)
        graded = list(zip(tasks, items, strict=True))
        alive = [task for task, item in graded if item.points == item.max_points]
        slow = {task.record for task, item in graded if item.status == "timeout"}
        refused = known & {task.record for task in tasks} - {task.record for task in alive} - slow
        yield Found(
            source.chapter,
            sum(task.record not in known for task in tasks),
            [task for task in alive if task.record not in known],
            [*stale, *(Stale(record, "its check refuses this") for record in sorted(refused))],
        )
