"""Read a chapter's `answers.py`: answers to its exercises that must lose points, and others that must lose none."""

from dataclasses import dataclass, replace
from pathlib import Path

from course.source import core_exercises
from course.source.assemble import as_of, read
from course.source.cells import defined
from course.source.exercises import Cell, ExerciseSource, Source, core_names, read_cells
from course.source.parts import PartError, held, short

FILE = "answers.py"
_KEYS = {"answer", "wrong", "right", "spoils", "open"}


@dataclass(frozen=True)
class Answer:
    """A whole solution cell. `says` names the misconception of a wrong answer, or the unusual form of a right one.

    `spoils` are the parts that must lose their points, by their short names; if it names none, any loss will do.
    One that `is_open` is known to be misjudged, until its exercise's check is changed.
    """

    exercise: str
    is_right: bool
    says: str
    text: str
    spoils: tuple[str, ...]
    is_open: bool
    path: Path
    line: int


def read_answers(path: Path, source: Source, reference: Path) -> list[Answer]:
    """The answers in `path`, validated; none if there is no such file.

    Args:
        path: an `answers.py`.
        source: the exercises of its chapter.
        reference: the folder of mytorch, whose text takes the place of the parts that a core answer leaves out.

    Raises:
        SourceError: a cell breaks a rule; the message starts with file and line.
    """
    if not path.exists():
        return []
    exercises = {exercise.name: exercise for exercise in source.exercises}
    answers: list[Answer] = []
    seen: dict[tuple[str, str], int] = {}
    for cell in read_cells(path):
        if cell.cell_type == "markdown" and not cell.metadata:
            continue
        answer = _answer(cell, exercises)
        first = seen.setdefault((answer.exercise, answer.text), answer.line)
        cell.expect(first == answer.line, f"the same text as the answer in line {first}")
        answers.append(_completed(answer, cell, exercises[answer.exercise], source, reference))
    return answers


def _answer(cell: Cell, exercises: dict[str, ExerciseSource]) -> Answer:
    about = cell.metadata
    cell.expect(cell.cell_type == "code" and "answer" in about, 'a cell is text, or code that opens with answer="NAME"')
    cell.expect(not set(about) - _KEYS, f"unknown cell metadata: {', '.join(sorted(set(about) - _KEYS))}")
    name, text = str(about["answer"]), cell.text.strip()
    cell.expect(name in exercises, f"the chapter has no exercise {name!r}")
    cell.expect(("wrong" in about) != ("right" in about), 'an answer is either wrong="WHY" or right="IN WHICH FORM"')
    says = str(about.get("wrong", about.get("right"))).strip()
    cell.expect(says, "an answer says why it is wrong, or in which form it is right")
    spoils = tuple(str(about.get("spoils", "")).split())
    cell.expect(not spoils or "wrong" in about, "only a wrong answer spoils parts")
    shared = {short(part) for share in exercises[name].kind.shares for part in share.parts}
    cell.expect({*spoils} <= shared, f"spoils= names parts with points of their own: {' '.join(sorted(shared))}")
    cell.expect(
        about.get("open", True) is True,
        "an answer that is known to be misjudged has open=true, others have no such word",
    )
    return Answer(name, "right" in about, says, text, spoils, "open" in about, cell.path, cell.line)


def _completed(answer: Answer, cell: Cell, exercise: ExerciseSource, source: Source, reference: Path) -> Answer:
    """The answer with the reference's text of the parts that it leaves out."""
    parts = list(exercise.kind.parts)
    if not parts:
        try:
            missing = {*exercise.names} - defined(answer.text)
        except SyntaxError as error:
            raise cell.error(f"line {error.lineno} of the cell: {error.msg}") from error
        cell.expect(not missing, f"an answer to {answer.exercise!r} defines {', '.join(sorted(missing))}")
        return answer
    given = {short(part) for part in parts} & held(answer.text)
    cell.expect(given, f"an answer to {answer.exercise!r} defines one of its parts: {' '.join(map(short, parts))}")
    if len(given) == len(parts):
        return answer
    files = as_of(read(reference), source.key)
    try:
        return replace(answer, text=core_exercises.completed(files, parts, answer.text, core_names(source)))
    except PartError as error:
        raise cell.error(str(error)) from error
