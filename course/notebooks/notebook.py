"""Notebooks from sources, with stable cell ids and nbgrader's metadata; the learner's notebook from the reference."""

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.checks.bundle import MIME, Bundle
from course.checks.mistakes import Mistake
from course.files import damaged
from course.notebooks.lesson_text import fold_answers, link_proofs
from course.source.assemble import Files
from course.source.cells import cut, solved, text_id
from course.source.core_exercises import quoted
from course.source.exercises import Cell, ExerciseSource, Source, SourceError, is_core_setup
from course.source.minutes import in_fives
from course.source.parts import PartError

v4: Any = nbformat.v4
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
OURS = "minitorch"  # the key of our metadata, of the notebook and of cells
HIDDEN = {"jupyter": {"source_hidden": True}}  # JupyterLab folds the cell
_MOST_LINES = 20  # that a check takes of the page, and its output
_NOTE = "An answer is one cell; put any imports and helpers beyond the setup into that cell."
_NUMBERS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen",
)  # fmt: skip
_FOLDED = "# Run this cell to check your answer.\n"  # what is seen of a check that is folded


def lesson(chapter: str, cells: list[Cell], files: Files, taken: dict[str, str]) -> NotebookNode:
    """The lesson's notebook, not yet executed. Answers are folded, and names of proofs are links.

    Args:
        files: the package as of the chapter, whose given parts are quoted.
        taken: the parts that the learner writes, with their exercises.

    Raises:
        SourceError: a given part does not exist, or the learner writes it; the text names a proof that no cell has.
    """
    made = [_plain(_finished(_with_given(cell, files, taken))) for cell in cells]
    if unknown := link_proofs(chapter, made):
        raise SourceError(f"{chapter}: no cell has the tag {', '.join(unknown)}")
    for cell in made:
        cell.id = text_id(cell.source)
    return _notebook(chapter, made)


def reference(source: Source) -> NotebookNode:
    """The notebook of the reference solutions, not yet executed. The task cells' metadata hold hints and mutants."""
    exercises = {exercise.name: exercise for exercise in source.exercises}
    cells: list[NotebookNode] = []
    for cell in source.cells:
        match cell.role:
            case "":
                cells.append(_plain(cell if cells else replace(cell, text=f"{cell.text}\n\n{_note(source.exercises)}")))
            case "setup":
                cells.append(_setup(cell, is_core_setup(source, cell)))
            case "exercise":
                cells.append(_task(exercises[cell.metadata["exercise"]]))
            case "solution":
                cells.append(_solution(cell))
            case "check":
                cells.append(_check(cell, exercises[cell.metadata["check"]].points))
    return _notebook(source.chapter, cells)


def learners(executed: NotebookNode, mistakes: dict[str, list[Mistake]]) -> NotebookNode:
    """The learner's notebook: the executed reference with the solutions cut out and outputs kept on check cells alone.

    A check shows there what a right answer shows, and says so.

    Args:
        mistakes: by exercise, what to tell about known wrong values; it takes the mutants' place.
    """
    notebook = copy.deepcopy(executed)
    for cell in notebook.cells:
        if cell.cell_type == "code" and role(cell) != "check":
            cell.outputs, cell.execution_count = [], None
        if role(cell) == "solution":
            cell.source = cell.metadata[OURS].pop("stub")
        if role(cell) == "check":
            cell.execution_count = None  # it was not run on the learner's answer
            for output in cell.outputs:
                output.data["text/plain"] = f"What a right answer shows:\n{output.data['text/plain']}"
        if role(cell) == "task":
            cell.metadata[OURS]["mutants"] = mistakes[exercise_of(cell)]
            cell.metadata[OURS].pop("variants", None)
    return notebook


def scroll_long_outputs(executed: NotebookNode) -> None:
    """Has JupyterLab show what checks print in a box of its own that scrolls, where it is long."""
    for cell in checks(executed).values():
        lines = sum(output.get("data", {}).get("text/plain", "").count("\n") for output in cell.outputs)
        if lines >= _MOST_LINES:
            cell.metadata["scrolled"] = True


def role(cell: NotebookNode) -> str:
    """task, setup, solution or check; empty for a cell that belongs to no exercise."""
    return str(cell.metadata.get(OURS, {}).get("role", ""))


def exercise_of(cell: NotebookNode) -> str:
    """The exercise that a task, solution or check cell belongs to; empty for others."""
    return str(cell.metadata.get(OURS, {}).get("exercise", ""))


def read_built(path: Path) -> NotebookNode:
    """Read a notebook of the course itself, as it was built.

    Raises:
        OSError: it is damaged.
    """
    try:
        notebook: NotebookNode = v4.reads(path.read_text(encoding="utf-8"))
        return notebook
    except (ValueError, LookupError, AttributeError) as error:
        raise damaged(path) from error


def tasks(notebook: NotebookNode) -> dict[str, dict[str, Any]]:
    """What the task cells say about their exercises, by name: kind, points, replaces, names, hints."""
    return {exercise_of(cell): cell.metadata[OURS] for cell in notebook.cells if role(cell) == "task"}


def checks(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The check cells, by exercise."""
    return {exercise_of(cell): cell for cell in notebook.cells if role(cell) == "check"}


def expected_bundle(cell: NotebookNode) -> Bundle:
    """The values that an executed check cell of the reference shows."""
    return bundles_of(cell)[0]


def bundles_of(cell: NotebookNode) -> list[Bundle]:
    """All that an executed check cell shows."""
    return [output.data[MIME] for output in cell.outputs if MIME in output.get("data", {})]


def write(notebook: NotebookNode) -> str:
    """The notebook as text, the same for the same notebook."""
    nbformat.validate(notebook)
    return f"{v4.writes(notebook)}\n"


def _notebook(chapter: str, cells: list[NotebookNode]) -> NotebookNode:
    seen: dict[str, int] = {}
    for cell in cells:
        count = seen[cell.id] = seen.get(cell.id, 0) + 1
        if count > 1:
            cell.id += f"-{count}"
    metadata = {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}, OURS: {"chapter": chapter}}
    notebook: NotebookNode = v4.new_notebook(cells=cells, metadata=metadata)
    return notebook


def _cell(cell_type: str, text: str, metadata: dict[str, Any], identifier: str = "") -> NotebookNode:
    identifier = identifier or text_id(text)
    make = v4.new_markdown_cell if cell_type == "markdown" else v4.new_code_cell
    made: NotebookNode = make(text, metadata=metadata, id=identifier)
    return made


def _with_given(cell: Cell, files: Files, taken: dict[str, str]) -> Cell:
    given = str(cell.metadata.get("given", "")).split()
    if not given:
        return cell
    try:
        return replace(cell, text=f"{cell.text}\n\n{quoted(files, given, taken)}".strip())
    except PartError as error:
        raise cell.error(str(error)) from error


def _finished(cell: Cell) -> Cell:
    return cell if cell.cell_type == "code" else replace(cell, text=fold_answers(cell.text))


def _plain(cell: Cell) -> NotebookNode:
    metadata = {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {}
    return _cell(cell.cell_type, cell.text, metadata | (HIDDEN if cell.metadata.get("hidden") else {}))


def _setup(cell: Cell, core: bool) -> NotebookNode:
    """A setup cell; `core` says whether it runs for core exercises too."""
    about = {"role": "setup", "core": core}
    made = _cell("code", cell.text, {OURS: about, "deletable": False, "editable": False, **HIDDEN})
    made.metadata["nbgrader"] = _nbgrader("code", f"setup-{made.id}", locked=True)
    return made


def _task(exercise: ExerciseSource) -> NotebookNode:
    points = f"{exercise.minutes} minutes · {exercise.points} point" + "s" * (exercise.points > 1)
    kind = exercise.kind
    hint = f'`check.hint("{exercise.name}")` in a cell, or `course hint {exercise.name}`'
    about: dict[str, Any] = {
        "role": "task",
        "exercise": exercise.name,
        "kind": kind.name,
        "points": exercise.points,
        "minutes": exercise.minutes,
        "replaces": kind.replaces,
        "parts": kind.parts,
        "names": exercise.names,
        "hints": exercise.hints,
        "mutants": [{"name": mutant.name, "says": mutant.says, "source": mutant.text} for mutant in exercise.mutants],
    }
    if exercise.variants:
        about["variants"] = sorted((variant.text for variant in exercise.variants), key=text_id)  # tells nothing
    if kind.shares:
        about["shares"] = [asdict(share) for share in kind.shares]
        for told, mutant in zip(about["mutants"], exercise.mutants, strict=True):
            told["spoils"] = mutant.spoils
    identifier = f"{exercise.name}-task"
    metadata = {OURS: about, "deletable": False, "nbgrader": _nbgrader("markdown", identifier, locked=True)}
    text = f"{exercise.task.text}\n\n*{points}{kind.where()} · a hint: {hint}*"
    return _cell("markdown", text, metadata, _short(identifier))


def _note(exercises: Sequence[ExerciseSource]) -> str:
    """What stands below the introduction: how many exercises there are, what they take, and what an answer is."""
    count, points = _NUMBERS[len(exercises) - 1], sum(each.points for each in exercises)
    there = f"There are {count} exercises" if len(exercises) > 1 else "There is one exercise"
    takes = in_fives(sum(each.minutes for each in exercises))
    return f"{there} with {points} points, which take about {takes} minutes. {_NOTE}"


def _solution(cell: Cell) -> NotebookNode:
    name = cell.metadata["solution"]
    about = {"role": "solution", "exercise": name, "stub": cut(cell.text)}
    metadata = {OURS: about, "deletable": False, "nbgrader": _nbgrader("code", name, solution=True)}
    return _cell("code", solved(cell.text), metadata, _short(name))


def _check(cell: Cell, points: int) -> NotebookNode:
    name = cell.metadata["check"]
    identifier = f"{name}-check"
    long = cell.text.count("\n") >= _MOST_LINES
    metadata = {
        OURS: {"role": "check", "exercise": name},
        "deletable": False,
        "editable": False,
        "nbgrader": _nbgrader("code", identifier, locked=True, grade=True, points=points),
        **(HIDDEN if long else {}),
    }
    return _cell("code", f"{_FOLDED}{cell.text}" if long else cell.text, metadata, _short(identifier))


def _short(identifier: str) -> str:
    """A cell id has at most 64 characters."""
    return (
        identifier
        if len(identifier) <= 60
        else f"{identifier[:40]}-{hashlib.sha256(identifier.encode()).hexdigest()[:12]}"
    )


def _nbgrader(cell_type: str, grade_id: str, **flags: Any) -> dict[str, Any]:
    """A cell's metadata as nbgrader defines them: https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html"""
    base = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return {**base, "cell_type": cell_type, "grade_id": grade_id, **flags}
