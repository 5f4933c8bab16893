"""What the learner's own notebook knows: the exercises as built, the hints given, and the solutions kept in `my/`.

This is read inside the learner's kernel, so it imports nothing heavy.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course import renamed
from course.authoring.cells import has_code
from course.authoring.parts import held, short
from course.chapters import Key, key
from course.files import Course, write_atomically
from course.grading.bundle import MIME, Bundle
from course.kinds import Kind, kind_of
from course.learner import damaged
from course.learner.names import suggestion


@dataclass(frozen=True)
class Exercise:
    """One exercise of a built notebook."""

    chapter: str
    name: str
    kind: Kind
    points: int
    hints: list[str]
    setup: list[str]
    stub: str
    check: str
    expected: Bundle

    @property
    def key(self) -> Key:
        """The chapter's key."""
        return key(self.chapter)


class UnknownExerciseError(LookupError):
    """No exercise has that name."""


def exercises(course: Course) -> list[Exercise]:
    """Every exercise of the course, in order. Damaged files of `my/` are set aside first.

    Raises:
        OSError: a notebook as built is damaged.
    """
    found = [exercise for path in sorted(course.pristine.glob("*.ipynb")) for exercise in _read(path)]
    names = [exercise.name for exercise in found]
    damaged.set_aside(course, {*names, *renamed.EXERCISES})
    renamed.carry_over(course, names)
    return found


def written_in(course: Course, text: str, history: list[str]) -> Exercise | None:
    """The exercise about parts of mytorch that a cell is an answer to, among those of the notebook that runs.

    Its setup cells are in the history, but for the first, which may have run before anything noted what runs.
    """
    names, ran = held(text), set(history)
    found = [
        (len(names.intersection(map(short, exercise.kind.parts))), len(ran.intersection(exercise.setup)), exercise)
        for exercise in (exercises(course) if names else [])
        if ran.issuperset(exercise.setup[1:])
    ]
    best = max(found, key=lambda each: each[:2], default=(0, 0, None))
    return best[2] if best[0] else None


def find(course: Course, name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        UnknownExerciseError: there is none.
    """
    every = {exercise.name: exercise for exercise in exercises(course)}
    if name in every:
        return every[name]
    where = suggestion(name, every) or "; `course progress CHAPTER` lists them"
    raise UnknownExerciseError(f"no exercise is called {name!r}{where}")


def exercise_of_check(source: str) -> Exercise | None:
    """The exercise whose check cell has this text; None outside the exercises' folder, or if the text was changed."""
    return next((exercise for exercise in _here() if exercise.check.strip() == source.strip()), None)


def exercise_of_stub(source: str) -> Exercise | None:
    """The exercise whose answer begins as this text; None outside the exercises' folder."""
    return next((exercise for exercise in _here() if exercise.stub.strip() == source.strip()), None)


def is_answered(exercise: Exercise, history: list[str]) -> bool:
    """Whether the last cell run that could be the answer, or holds one of its parts, is more than what was given."""
    kinds = [exercise.kind, *(replace(exercise.kind, parts=[part]) for part in exercise.kind.parts)]
    found = (each.answer_in(history) for each in kinds)
    return any(solution is not None and has_code(solution, exercise.stub) for solution in found)


def keep(course: Course, exercise: Exercise, solution: str) -> str:
    """Keep a solution that is right in `my/`; says what was done."""
    path = solution_path(course, exercise.name)
    write_atomically(path, solution.rstrip() + "\n")
    return f" Kept in my/{path.name}{exercise.kind.kept()}."


def solution_path(course: Course, name: str) -> Path:
    """Where the learner's solution of an exercise is kept."""
    return course.mine / f"{name}.py"


def is_kept(course: Course, exercise: Exercise) -> bool:
    """Whether a solution passed the practice check and is kept, and holds all that the exercise asks for today."""
    path = solution_path(course, exercise.name)
    if not (path.exists() and exercise.kind.parts):
        return path.exists()
    return held(path.read_text(encoding="utf-8")).issuperset(map(short, exercise.kind.parts))


def hints_given(course: Course) -> dict[str, int]:
    """How many hints were shown, by exercise."""
    path = course.mine / "hints.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def next_hint(course: Course, name: str) -> str:
    """The next hint of an exercise, noted as given; after the last one, all of them.

    Raises:
        UnknownExerciseError: no exercise has that name.
    """
    exercise = find(course, name)
    given = hints_given(course)
    count = given.get(name, 0)
    if count >= len(exercise.hints):
        return "\n".join(["That was the last hint. All of them:", *exercise.hints])
    write_atomically(
        course.mine / "hints.json", json.dumps({**given, name: count + 1}, indent=1, sort_keys=True) + "\n"
    )
    return f"Hint {count + 1} of {len(exercise.hints)}: {exercise.hints[count]}"


def _here() -> list[Exercise]:
    """The exercises of the course whose folder of exercises is the current one; none elsewhere."""
    course = Course(Path.cwd().parent)
    return exercises(course) if Path.cwd() == course.exercises else []


def _read(path: Path) -> list[Exercise]:
    try:
        cells: list[dict[str, Any]] = json.loads(path.read_bytes())["cells"]
    except (ValueError, LookupError, TypeError) as error:
        told = "bring it back with `git restore` in a clone, `course update` elsewhere"
        raise OSError(f"{path} is damaged: {told}") from error
    texts: dict[tuple[str, str], str] = {}
    tasks: dict[str, dict[str, Any]] = {}
    expected: dict[str, Bundle] = {}
    setup = []
    for cell in cells:
        about = cell["metadata"].get("minitorch", {})
        role, name = about.get("role"), about.get("exercise")
        text = "".join(cell["source"])
        texts[role, name] = text
        if role == "setup":
            setup.append(text)
        elif role == "task":
            tasks[name] = about
        elif role == "check":
            expected[name] = next(output["data"][MIME] for output in cell["outputs"] if MIME in output.get("data", {}))
    return [
        Exercise(
            chapter=path.stem,
            name=name,
            setup=setup,
            stub=texts["solution", name],
            check=texts["check", name],
            expected={**expected[name], "mistakes": about["mutants"]},
            kind=kind_of(about),
            points=about["points"],
            hints=about["hints"],
        )
        for name, about in tasks.items()
    ]
