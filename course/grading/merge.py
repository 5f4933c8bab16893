"""From a submission take the text of the solution cells, and nothing else; everything else is the reference's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from course import renamed
from course.authoring.cells import defined, has_code
from course.authoring.notebook import OURS, exercise_of, role
from course.authoring.parts import short
from course.grading.find import RejectedError


@dataclass
class Submission:
    """What counts of one submitted notebook: the text of its solution cells, by exercise."""

    chapter: str
    solutions: dict[str, str]
    notes: list[str] = field(default_factory=list)
    names: list[tuple[str, str, set[str]]] = field(default_factory=list)  # cell, its exercise, what it defines

    def about_undefined(self, name: str, exercise: str, parts: Mapping[str, Sequence[str]]) -> str:
        """Which cell defines a name that an exercise lacks, other than its own solution, and what to do; or nothing.

        Args:
            name: what is not defined.
            exercise: where.
            parts: the parts of mytorch that each exercise is about, if it is about some.
        """
        found = next(((cell, owner) for cell, owner, names in self.names if name in names and owner != exercise), None)
        if found is None:
            return ""
        cell, owner = found
        part = next((part for part in parts.get(owner, []) if short(part) == name), "")
        if part and parts.get(exercise):  # what it does hold is the package's file, not the notebook
            return f" ({cell}, defines it, in another file: from {part.partition(':')[0]} import {name})"
        return f" ({cell}, defines it; the solution cell itself must hold all that it needs)"


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
    notebook, stubs = renamed.notebook_now(notebook), stubs_of(reference)
    found: dict[str, list[str]] = {name: [] for name in stubs}
    unknown = 0
    ours = {cell.id for cell in reference.cells}
    checking = {cell.id for cell in reference.cells if role(cell) == "check"}
    submission = Submission(reference.metadata[OURS]["chapter"], {})
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        about = cell.metadata.get("nbgrader")
        name = about.get("grade_id") if isinstance(about, dict) else None
        exercise = name if isinstance(name, str) and name in found else ""
        if exercise:
            found[exercise].append(cell.source)
        elif cell.get("id") not in ours:
            unknown += 1
        if cell.get("id") in checking:
            continue  # what a check defines is not there for solutions
        first = next(iter(cell.source.strip().splitlines()), "")
        submission.names.append((f"cell {number}, `{first[:60]}`", exercise, _names(cell.source)))
    for name, sources in found.items():
        if len(sources) > 1:
            submission.notes.append(f"{name}: {len(sources)} cells, joined in order")
        if sources:
            with_code = [text for text in sources if has_code(text, stubs[name])]
            submission.solutions[name] = "\n\n".join(with_code or sources[:1])
    if unknown:
        submission.notes.append(f"{unknown} code cell{'s' * (unknown > 1)} that the learner added not run")
    return submission


def _names(text: str) -> set[str]:
    """The names that a cell defines; none if it is no Python."""
    try:
        return defined(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def stubs_of(reference: NotebookNode) -> dict[str, str]:
    """What the learner starts from, by exercise; in a learner's notebook as built that is the cell itself."""
    solutions = [cell for cell in reference.cells if role(cell) == "solution"]
    return {exercise_of(cell): cell.metadata[OURS].get("stub", cell.source) for cell in solutions}
