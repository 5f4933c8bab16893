"""From a submission take the text of the solution cells, and nothing else; everything else is the reference's."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.notebook import OURS, exercise_of, role, tasks

MAX_BYTES = 20 << 20


class RejectedError(Exception):
    """A submission that cannot be graded; the message says why."""


@dataclass
class Submission:
    """What counts of one submitted notebook: the text of its solution cells, by exercise."""

    chapter: str
    solutions: dict[str, str]
    notes: list[str] = field(default_factory=list)


def read(path: Path) -> NotebookNode:
    """Read a submitted notebook.

    Raises:
        RejectedError: no such file, too large, or not a valid notebook.
    """
    if not path.is_file():
        raise RejectedError("no such file")
    if path.stat().st_size > MAX_BYTES:
        raise RejectedError(f"{path.stat().st_size >> 20} MiB is too large: a notebook has at most {MAX_BYTES >> 20}")
    reads: Any = nbformat.reads
    try:
        text = path.read_text(encoding="utf-8")
        notebook: NotebookNode = reads(text, as_version=4)
        nbformat.validate(notebook)
        json.dumps(notebook, ensure_ascii=False).encode()  # a lone surrogate could not be written again
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, nbformat.ValidationError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise RejectedError(f"not a valid notebook: {reason[:200]}") from error
    return notebook


def chapter_of(notebook: NotebookNode, path: Path, chapters: list[str]) -> str:
    """The chapter that a submission belongs to, by its metadata.

    Raises:
        RejectedError: none of `chapters`, or another one than the file's name says.
    """
    ours = notebook.metadata.get(OURS)
    chapter = ours.get("chapter") if isinstance(ours, dict) else None
    if not isinstance(chapter, str):
        raise RejectedError("not a notebook of this course: its metadata name no chapter")
    if chapter not in chapters:
        raise RejectedError(f"chapter {chapter!r} has no reference here")
    if path.stem in chapters and path.stem != chapter:
        raise RejectedError(f"the file is called {path.stem}, but holds chapter {chapter}")
    return chapter


def solutions_of(notebook: NotebookNode, reference: NotebookNode) -> Submission:
    """The solution cells of a submission whose exercises the reference knows."""
    stubs = stubs_of(reference)
    found: dict[str, list[str]] = {name: [] for name in stubs}
    unknown = 0
    ours = {cell.id for cell in reference.cells}
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader")
        name = about.get("grade_id") if isinstance(about, dict) else None
        if cell.cell_type == "code" and isinstance(name, str) and name in found:
            found[name].append(cell.source)
        elif cell.cell_type == "code" and cell.get("id") not in ours:
            unknown += 1
    submission = Submission(reference.metadata[OURS]["chapter"], {})
    for name, sources in found.items():
        if len(sources) > 1:
            submission.notes.append(f"{name}: {len(sources)} cells; the first with code counts")
        if sources:
            submission.solutions[name] = next((text for text in sources if has_code(text, stubs[name])), sources[0])
    if unknown:
        submission.notes.append(f"{unknown} code cell{'s' * (unknown > 1)} that the learner added not run")
    return submission


def stubs_of(reference: NotebookNode) -> dict[str, str]:
    """What the learner starts from, by exercise."""
    return {exercise_of(cell): cell.metadata[OURS]["stub"] for cell in reference.cells if role(cell) == "solution"}


def has_code(text: str, stub: str) -> bool:
    """Whether a solution cell is more than empty, comments, or the stub."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and text.strip() != stub.strip()


def graded_part(reference: NotebookNode) -> NotebookNode:
    """The cells that a grade runs: setup, solutions and checks."""
    notebook = copy.deepcopy(reference)
    notebook.cells = [cell for cell in notebook.cells if role(cell) in ("setup", "solution", "check")]
    return notebook


def merge(executed: NotebookNode, submission: Submission) -> NotebookNode:
    """The executed reference's cells and outputs with the submission's solutions; the stub where there is none."""
    notebook = graded_part(executed)
    about = tasks(executed)
    for cell in notebook.cells:
        if role(cell) == "solution":
            name = exercise_of(cell)
            cell.source = submission.solutions.get(name, cell.metadata[OURS]["stub"])
        elif role(cell) == "check":
            cell.metadata[OURS]["mutants"] = about[exercise_of(cell)]["mutants"]
    return notebook
