"""The kinds of exercises: one class says all that is particular to a kind, and nobody else asks which one it is.

What its author writes and the build adds (stub, check, mutants), what the page says of it, which packages and names an
answer gets in a grade, what it earns, and what becomes of a right one. A new kind is a class here, entered in `KINDS`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from course.chapters import Key
from course.designs import NEAR_ENOUGH
from course.parsed import parsed
from course.source import core_exercises, planting
from course.source.assemble import REFUSED, Files
from course.source.cells import defined, free, imported, replacement_name
from course.source.parts import defines, short
from course.source.statements import Definition

if TYPE_CHECKING:
    from course.source.exercises import Cell, ExerciseSource, Mutant


@dataclass(frozen=True)
class Share:
    """Some of an exercise's parts, and what they earn if they are right while its other parts are the reference's."""

    parts: list[str]
    points: int


@dataclass(frozen=True)
class Kind:
    """An exercise whose answer is a cell of its own, or (`replaces`) stands for a part of minitorch.

    `names` are what its check takes from the answer. `parts` and `shares` are a core exercise's alone.
    """

    name: ClassVar[str]
    hints: ClassVar[int] = 3
    mutants: ClassVar[int] = 2
    """How many an author writes at least."""
    interview: ClassVar[str] = ""
    """The round of the mock interview that asks all exercises of this kind; empty if none does."""
    is_code: ClassVar[bool] = True
    """Whether code is asked for: a change to the reference may then be a mistake that a check overlooks."""
    closed: ClassVar[bool] = True
    """Whether an answer can reach only what the reference needs (`course.grading.reach`)."""

    names: Sequence[str] = ()
    parts: Sequence[str] = ()
    replaces: str | None = None
    shares: Sequence[Share] = ()

    # The author

    def refused(self) -> str:
        """What is wrong with how an exercise of this kind is opened; empty if nothing is."""
        return "a core exercise names its parts, no other does" if self.parts else ""

    def complete(self, exercise: ExerciseSource, files: Files, shared: set[str], chapter: Key) -> None:
        """Write what the author of an exercise leaves to the build."""
        exercise.task.expect(exercise.docstrings is None, f"docstrings of {exercise.name!r}: it is no core exercise")

    def names_in(self, solution: str, check: str) -> list[str]:
        """What the check needs from the solution: how a learner's cell is recognised as one."""
        return sorted(defined(solution) & free(check))

    def known(self, solution: str, setup: set[str], core: set[str]) -> tuple[set[str], set[str]]:
        """The names that the solution cell and the check may use.

        Args:
            solution: the cell.
            setup: what the setup cells define.
            core: what those of them define that import no minitorch.
        """
        return setup, setup | defined(solution)

    def validate(self, exercise: ExerciseSource) -> None:
        """Refuse an exercise that breaks a rule of its kind.

        Raises:
            SourceError: it breaks one.
        """
        if self.replaces is None:
            return
        assert exercise.solution is not None
        part = replacement_name(self.replaces, exercise.names)
        told = f"replaces {self.replaces}, but the check uses no solution of such a name"
        exercise.solution.expect(part, told)
        delegates = any(mutant.name.startswith("Delegates") for mutant in exercise.mutants)
        told = f"exercise {exercise.name!r} replaces a part: one mutant 'Delegates...' calls the original"
        exercise.task.expect(delegates, told)

    # The page

    def where(self) -> str:
        """What earns the points and where it belongs, for the line below the task."""
        return ""

    # A grade

    def folder(self, exercise: str, shared: str) -> str:
        """The packages that an answer sees: `shared`, or a folder of the exercise's own, without what it replaces."""
        return exercise if self.replaces else shared

    def sets_up(self, is_core: bool) -> bool:
        """Whether a setup cell runs, which imports minitorch unless `is_core`."""
        return True

    @property
    def watched(self) -> tuple[str, ...]:
        """The names that are taken from the answer's cell, and whose calls are seen."""
        return tuple(self.names)

    @property
    def must_run(self) -> bool:
        """Whether an answer is wrong whose cell raises."""
        return True

    # The learner

    def answer_in(self, history: Iterable[str]) -> str | None:
        """The last of the cells run that defines all that is asked for."""
        return next((text for text in reversed(list(history)) if self.is_answered_by(text)), None)

    def is_answered_by(self, text: str) -> bool:
        """Whether a cell defines all that is asked for."""
        try:
            return set(self.names) <= defined(text)
        except SyntaxError:  # the learner's cells may hold anything
            return False

    def kept(self) -> str:
        """What a right answer stands for, once it is kept."""
        return f"; it stands for {self.replaces}" if self.replaces else ""


class Predict(Kind):
    """Say what a program shows."""

    name = "predict"
    interview = "predict"
    is_code = False
    closed = False  # the values are the answer, however they were found


class Build(Kind):
    """Write something from nothing."""

    name = "build"


class Repair(Kind):
    """Find and mend a fault."""

    name = "repair"


class Measure(Kind):
    """Find a number by experiment."""

    name = "measure"
    closed = False  # an experiment may be made in many ways


class Design(Kind):
    """Decide: a simulator says which limits the decisions keep, and their cost is compared with the cheapest."""

    name = "design"
    mutants = 4
    closed = False  # the decisions are judged, however they were found

    def validate(self, exercise: ExerciseSource) -> None:
        super().validate(exercise)
        assert exercise.check is not None
        told = f"the check of {exercise.name!r}, a design, shows what check.design says of its decisions"
        exercise.check.expect("check.design(" in exercise.check.text, told)

    def where(self) -> str:
        return f" · every limit kept, at most {NEAR_ENOUGH} times the cheapest"


class Verify(Kind):
    """Write tests that accept right answers to a task, whatever their form, and refuse faulty ones."""

    name = "verify"
    mutants = 3
    is_code = False  # other tests may do as well
    closed = False
    least: ClassVar[tuple[int, int]] = (3, 6)
    """How many right and how many faulty variants an author writes at least."""

    def complete(self, exercise: ExerciseSource, files: Files, shared: set[str], chapter: Key) -> None:
        """Show some variants below the task, and write them into the first lines of the check."""
        super().complete(exercise, files, shared, chapter)
        shown = [variant.text for variant in exercise.variants if variant.shown]
        exercise.task.expect(shown, f"exercise {exercise.name!r} shows no variant: one has shown=true")
        titled = [f"**Answer {chr(ord('A') + n)}**\n\n```python\n{text}\n```" for n, text in enumerate(shown)]
        exercise.task = replace(exercise.task, text="\n\n".join([exercise.task.text, *titled]))
        self._show(exercise, shown)

    def _show(self, exercise: ExerciseSource, shown: Sequence[str]) -> None:
        """Write variants into the first lines of the check."""
        check = exercise.check
        if check is None:
            raise exercise.task.error(f"exercise {exercise.name!r} has no check cell")
        literal = ", ".join(f"r'''\n{text}\n'''" for text in shown)
        exercise.check = replace(check, text=f"shown = [{literal}]\n{check.text}")

    def validate(self, exercise: ExerciseSource) -> None:
        super().validate(exercise)
        assert exercise.check is not None
        told = f"the check of {exercise.name!r} shows what check.verify says of the variants"
        exercise.check.expect("check.verify(" in exercise.check.text, told)
        right = [variant for variant in exercise.variants if variant.is_right and not variant.shown]
        faulty = [variant for variant in exercise.variants if not variant.is_right]
        told = "{!r} needs {} right variants that it doesn't show, and {} faulty ones".format(
            exercise.name, *self.least
        )
        exercise.task.expect(len(right) >= self.least[0] and len(faulty) >= self.least[1], told)

    def where(self) -> str:
        return " · for each faulty answer that your tests refuse, if they accept every correct one"


class Debug(Verify):
    """Fix a program that has several faults, and leave tests that would find each of them, and others.

    The author writes the program without faults, and each fault as edits (`course.source.planting`). Those that are
    `shown` are in the program that the learner gets.
    """

    name = "debug"
    mutants = 2  # beside one for each fault that is left in the program
    least = (2, 8)

    def complete(self, exercise: ExerciseSource, files: Files, shared: set[str], chapter: Key) -> None:
        """Plant the faults: into the stub, the variants, and a mutant for each."""
        Kind.complete(self, exercise, files, shared, chapter)
        if exercise.solution is None:
            raise exercise.task.error(f"exercise {exercise.name!r} has no solution cell")
        try:
            given = planting.complete(exercise)
        except ValueError as error:
            raise exercise.task.error(f"exercise {exercise.name!r}: {error}") from error
        self._show(exercise, [given])

    def where(self) -> str:
        return " · for each faulty program that your tests refuse, if yours is fixed and they accept every correct one"


class Timed(Kind):
    """Write something whose cost has the right order: a machine does its work and counts it (`course.work`)."""

    name = "timed"
    mutants = 3

    def complete(self, exercise: ExerciseSource, files: Files, shared: set[str], chapter: Key) -> None:
        """Write the machine into the first lines of the check."""
        super().complete(exercise, files, shared, chapter)
        told = f"{exercise.name!r} is timed: it has a check, and one machine, whose verdict is under a seal"
        machines = [each.text for each in exercise.variants if "seal(" in each.text]
        if exercise.check is None or len(machines) != 1 or len(exercise.variants) != 1:
            raise exercise.task.error(told)
        text = f"machine = check.machine(r'''\n{machines[0]}\n''')\n{exercise.check.text}"
        exercise.check = replace(exercise.check, text=text)

    def where(self) -> str:
        return " · within the limits of the task, which are counted"


class Core(Kind):
    """Write parts of mytorch, which go into the learner's own package."""

    name = "core"

    def refused(self) -> str:
        return "" if self.parts else "a core exercise names its parts, no other does"

    def complete(self, exercise: ExerciseSource, files: Files, shared: set[str], chapter: Key) -> None:
        """Make the solution cell with its stub, the first line of the check, and what mutants leave out."""
        task, check, name = exercise.task, exercise.check, exercise.name
        task.expect(exercise.solution is None, f"exercise {name!r}: the build makes the solution of a core exercise")
        if check is None:
            raise task.error(f"exercise {name!r} has no check cell")
        check.expect(not imported(check.text) & {*REFUSED}, "the check of a core exercise imports no minitorch")
        parts, docstrings = list(self.parts), exercise.docstrings.text if exercise.docstrings else ""
        text = core_exercises.solution(files, parts, shared, docstrings)
        self._specify(exercise, docstrings)
        exercise.solution = replace(task, cell_type="code", text=text, metadata={"solution": name})
        exercise.check = replace(check, text=f"{core_exercises.check_line(parts, chapter)}\n{check.text}")
        for mutant in exercise.mutants:
            self._fill(mutant, task, name)
            mutant.text = core_exercises.completed(files, parts, mutant.text, shared)

    def _specify(self, exercise: ExerciseSource, docstrings: str) -> None:
        known = {short(part) for part in self.parts}
        for node in parsed(docstrings).body:
            fits = isinstance(node, Definition) and node.name in known and len(node.body) == 1
            (exercise.docstrings or exercise.task).expect(
                fits and ast.get_docstring(node),  # type: ignore[arg-type]
                f"docstrings of {exercise.name!r}: each is named as a part, {sorted(known)}, and is a docstring alone",
            )

    def _fill(self, mutant: Mutant, task: Cell, name: str) -> None:
        ours = [short(part) for part in self.parts if defines(mutant.text, part)]
        task.expect(ours, f"mutant {mutant.name!r} of {name!r} defines no part of the exercise")
        told = f"mutant {mutant.name!r} of {name!r} spoils no part that it defines: spoils= is one of {ours}"
        task.expect({*mutant.spoils} <= {*ours}, told)
        mutant.spoils = mutant.spoils or ours

    def names_in(self, solution: str, check: str) -> list[str]:
        return [short(part) for part in self.parts]

    def known(self, solution: str, setup: set[str], core: set[str]) -> tuple[set[str], set[str]]:
        """The solution finds the names of its part's file, which nobody lists."""
        return free(solution), core | {"mytorch"}

    def where(self) -> str:
        if not self.shares:
            return f" · {_placed(self.parts)}"
        first, *others = {_file(part): None for part in self.parts}
        told = _placed if others else _series
        earned = ", ".join(f"{share.points} for {told(share.parts)}" for share in self.shares)
        return f": {earned}" if others else f": {earned} · in `{first}`"

    def folder(self, exercise: str, shared: str) -> str:
        """The arrays of GPUs are all of minitorch that there is."""
        return self.name

    def sets_up(self, is_core: bool) -> bool:
        return is_core

    @property
    def watched(self) -> tuple[str, ...]:
        """None: parts are taken from the cell's text, and seen in the package."""
        return ()

    @property
    def must_run(self) -> bool:
        return False

    def is_answered_by(self, text: str) -> bool:
        return all(defines(text, part) for part in self.parts)

    def kept(self) -> str:
        return f"; in my/mytorch {' and '.join(self.parts)} {'is' if len(self.parts) == 1 else 'are'} yours"


KINDS: dict[str, type[Kind]] = {
    kind.name: kind for kind in (Predict, Core, Build, Repair, Measure, Design, Verify, Debug, Timed)
}
"""By the name that `kind=` gives."""


def kind_of(about: Mapping[str, Any]) -> Kind:
    """What an exercise asks for, from what its task cell says. Notebooks as once built name no parts."""
    shares = [Share(**share) for share in about.get("shares") or []]
    parts = about.get("parts") or []
    return KINDS[about["kind"]](about["names"], parts, about.get("replaces"), shares)


def _file(part: str) -> str:
    """The file of a part, by its module's name."""
    return part.partition(":")[0]


def _series(parts: Sequence[str]) -> str:
    """The names of parts as a sentence lists them: one, two and three."""
    *others, last = (f"`{part.partition(':')[2]}`" for part in parts)
    return f"{', '.join(others)} and {last}" if others else last


def _placed(parts: Sequence[str]) -> str:
    """The names of parts, file by file, with the files."""
    files = [_file(part) for part in parts]
    each = [[part for part in parts if _file(part) == file] for file in dict.fromkeys(files)]
    return " and ".join(f"{_series(some)} in `{_file(some[0])}`" for some in each)
