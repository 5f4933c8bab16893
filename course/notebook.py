"""Notebooks from sources, with stable cell ids and nbgrader's metadata; the learner's notebook from the reference."""

import copy
import hashlib
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.cells import cut, solved
from course.kernel import KERNELSPEC
from course.source import Cell, Exercise, Source

v4: Any = nbformat.v4
OURS = "minitorch"  # the key of our metadata, of the notebook and of cells


def lesson(chapter: str, cells: list[Cell]) -> NotebookNode:
    """The lesson's notebook, not yet executed."""
    return _notebook(chapter, [_plain(cell) for cell in cells])


def reference(source: Source) -> NotebookNode:
    """The notebook of the reference solutions, not yet executed. The task cells' metadata hold hints and mutants."""
    exercises = {exercise.name: exercise for exercise in source.exercises}
    cells = []
    for cell in source.cells:
        match cell.role:
            case "":
                cells.append(_plain(cell))
            case "setup":
                cells.append(_setup(cell))
            case "exercise":
                cells.append(_task(exercises[cell.metadata["exercise"]]))
            case "solution":
                cells.append(_solution(cell))
            case "check":
                cells.append(_check(cell, exercises[cell.metadata["check"]].points))
    return _notebook(source.chapter, cells)


def learners(executed: NotebookNode, says: dict[str, dict[str, str]]) -> NotebookNode:
    """The learner's notebook: the executed reference with the solutions cut out and outputs kept on check cells alone.

    Args:
        says: by exercise, what to tell about known wrong values, by their fingerprint; it takes the mutants' place.
    """
    notebook = copy.deepcopy(executed)
    for cell in notebook.cells:
        if cell.cell_type == "code" and role(cell) != "check":
            cell.outputs, cell.execution_count = [], None
        if role(cell) == "solution":
            cell.source = cell.metadata[OURS].pop("stub")
        if role(cell) == "task":
            cell.metadata[OURS]["mutants"] = says[exercise_of(cell)]
    return notebook


def role(cell: NotebookNode) -> str:
    """task, setup, solution or check; empty for a cell that belongs to no exercise."""
    return str(cell.metadata.get(OURS, {}).get("role", ""))


def exercise_of(cell: NotebookNode) -> str:
    """The exercise that a task, solution or check cell belongs to; empty for others."""
    return str(cell.metadata.get(OURS, {}).get("exercise", ""))


def tasks(notebook: NotebookNode) -> dict[str, dict[str, Any]]:
    """What the task cells say about their exercises, by name: kind, points, replaces, names, hints."""
    return {exercise_of(cell): cell.metadata[OURS] for cell in notebook.cells if role(cell) == "task"}


def checks(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The check cells, by exercise."""
    return {exercise_of(cell): cell for cell in notebook.cells if role(cell) == "check"}


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
    identifier = identifier or hashlib.sha256(text.encode()).hexdigest()[:12]
    make = v4.new_markdown_cell if cell_type == "markdown" else v4.new_code_cell
    made: NotebookNode = make(text, metadata=metadata, id=identifier)
    return made


def _plain(cell: Cell) -> NotebookNode:
    return _cell(cell.cell_type, cell.text, {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {})


def _setup(cell: Cell) -> NotebookNode:
    made = _cell("code", cell.text, {OURS: {"role": "setup"}, "deletable": False, "editable": False})
    made.metadata["nbgrader"] = _nbgrader("code", f"setup-{made.id}", locked=True)
    return made


def _task(exercise: Exercise) -> NotebookNode:
    points = f"{exercise.points} point" + "s" * (exercise.points > 1)
    hint = f'`check.hint("{exercise.name}")` in a cell, or `course hint {exercise.name}`'
    about = {
        "role": "task",
        "exercise": exercise.name,
        "kind": exercise.kind,
        "points": exercise.points,
        "replaces": exercise.replaces,
        "names": exercise.names,
        "hints": exercise.hints,
        "mutants": [{"name": mutant.name, "says": mutant.says, "source": mutant.text} for mutant in exercise.mutants],
    }
    identifier = f"{exercise.name}-task"
    metadata = {OURS: about, "deletable": False, "nbgrader": _nbgrader("markdown", identifier, locked=True)}
    text = f"{exercise.task.text}\n\n*{points} · a hint: {hint}*"
    return _cell("markdown", text, metadata, _short(identifier))


def _solution(cell: Cell) -> NotebookNode:
    name = cell.metadata["solution"]
    about = {"role": "solution", "exercise": name, "stub": cut(cell.text)}
    metadata = {OURS: about, "deletable": False, "nbgrader": _nbgrader("code", name, solution=True)}
    return _cell("code", solved(cell.text), metadata, _short(name))


def _check(cell: Cell, points: int) -> NotebookNode:
    name = cell.metadata["check"]
    identifier = f"{name}-check"
    metadata = {
        OURS: {"role": "check", "exercise": name},
        "deletable": False,
        "editable": False,
        "nbgrader": _nbgrader("code", identifier, locked=True, grade=True, points=points),
    }
    return _cell("code", cell.text, metadata, _short(identifier))


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
