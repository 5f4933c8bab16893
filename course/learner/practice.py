"""What the learner's own notebook knows: the exercises as built, the hints given, and the solutions kept in `my/`.

This is read inside the learner's kernel, so it imports nothing heavy.
"""

import functools
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import files, formulas, renamed
from course.chapters import Key, key
from course.checks.bundle import MIME, Bundle
from course.files import Course, write_atomically
from course.learner import damaged
from course.learner.names import chapter, suggestion
from course.source.cells import has_code
from course.source.kinds import Kind, kind_of
from course.source.parts import held, short


@dataclass(frozen=True)
class Exercise:
    """One exercise of a built notebook."""

    chapter: str
    name: str
    kind: Kind
    points: int
    minutes: int
    hints: list[str]
    setup: list[str]
    stub: str
    check: str
    cell: str
    """The id of the cell for the answer."""
    expected: Bundle
    below: str = ""
    """The text below its check."""

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
    found = [exercise for path in sorted(course.pristine.glob("*.ipynb")) for exercise in _read(path, *_state(path))]
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
    own = [each.name for each in every.values() if chapter(course, name) == each.chapter]
    listed = f"; chapter {name} has {', '.join(own)}" if own else "; `course progress CHAPTER` lists them"
    where = suggestion(name, every) or listed
    raise UnknownExerciseError(f"no exercise is called {name!r}{where}")


def exercise_of_check(source: str) -> Exercise | None:
    """The exercise whose check cell has this text; None outside the exercises' folder, or if the text was changed."""
    return next((exercise for exercise in _here() if exercise.check.strip() == source.strip()), None)


def exercise_of_stub(source: str) -> Exercise | None:
    """The exercise whose answer begins as this text; None outside the exercises' folder."""
    return next((exercise for exercise in _here() if exercise.stub.strip() == source.strip()), None)


def exercise_of_cell(source: str, cell: str | None) -> Exercise | None:
    """The exercise whose check this is, or whose answer's cell has this id; None outside the exercises' folder."""
    here = _here()
    return next((each for each in here if each.cell == cell or each.check.strip() == source.strip()), None)


def is_answered(exercise: Exercise, text: str) -> bool:
    """Whether the text of an answer's cell holds more than what was given."""
    return has_code(text, exercise.stub)


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
    return {name: int(count) for name, count in _noted(course, "hints").items()}


def reset_at(course: Course, name: str) -> float:
    """When an exercise was last given back as it was: a time as of `time.time`; 0 if it never was."""
    return _noted(course, "resets").get(name, 0.0)


def note_reset(course: Course, names: Iterable[str]) -> None:
    """Note that exercises are given back now: what ran before is no answer any more, in whatever kernel."""
    _note(course, "resets", dict.fromkeys(names, time.time()))


def _noted(course: Course, what: str) -> dict[str, float]:
    path = course.mine / f"{what}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _note(course: Course, what: str, new: dict[str, Any]) -> None:
    text = json.dumps({**_noted(course, what), **new}, indent=1, sort_keys=True)
    write_atomically(course.mine / f"{what}.json", f"{text}\n")


def next_hint(course: Course, name: str) -> str:
    """The next hint of an exercise, noted as given; after the last one, all of them.

    Raises:
        UnknownExerciseError: no exercise has that name.
    """
    hints = [formulas.plain(each, is_markdown=False) for each in find(course, name).hints]
    count = hints_given(course).get(name, 0)
    if count >= len(hints):
        return "\n\n".join(["That was the last hint. All of them:", *hints])
    _note(course, "hints", {name: count + 1})
    return f"Hint {count + 1} of {len(hints)}: {hints[count]}"


def setup_texts() -> list[str]:
    """The setup cells of all notebooks, each once; none outside the exercises' folder."""
    return list(dict.fromkeys(text for each in _here() for text in each.setup))


def _here() -> list[Exercise]:
    """The exercises of the course whose folder of exercises is the current one; none elsewhere."""
    course = Course(Path.cwd().parent)
    return exercises(course) if Path.cwd() == course.exercises else []


def _state(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_mtime_ns, about.st_size


@functools.lru_cache(256)
def _read(path: Path, changed: int, size: int) -> list[Exercise]:
    """The exercises of a notebook as built; read once, as long as its time and its size stay."""
    try:
        cells: list[dict[str, Any]] = json.loads(path.read_bytes())["cells"]
    except (ValueError, LookupError, TypeError) as error:
        raise files.damaged(path) from error
    ids: dict[str, str] = {}
    texts: dict[tuple[str, str], str] = {}
    tasks: dict[str, dict[str, Any]] = {}
    expected: dict[str, Bundle] = {}
    below: dict[str, str] = {}
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
        elif role == "solution":
            ids[name] = cell.get("id", "")
        elif role == "check":
            expected[name] = next(output["data"][MIME] for output in cell["outputs"] if MIME in output.get("data", {}))
        elif tasks:
            below[[*tasks][-1]] = text
    return [
        Exercise(
            chapter=path.stem,
            name=name,
            setup=setup,
            stub=texts["solution", name],
            check=texts["check", name],
            cell=ids[name],
            expected={**expected[name], "mistakes": about["mutants"]},
            below=below.get(name, ""),
            kind=kind_of(about),
            points=about["points"],
            minutes=about["minutes"],
            hints=about["hints"],
        )
        for name, about in tasks.items()
    ]
