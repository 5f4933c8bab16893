"""From a submission take the text of the solution cells, and nothing else; everything else is the reference's."""

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from course import renamed
from course.authoring.cells import defined, has_code
from course.grading import credit
from course.grading.submission import MOST_CODE, RejectedError, Submission

_OURS = "minitorch"  # as in authoring/notebook.py, which the reader's sandbox does not hold
_MOST_READ = 10 * MOST_CODE  # characters of all cells in which names are looked for
_MOST_NAMES = 10_000


@dataclass(frozen=True)
class Outline:
    """What is known about a chapter's notebook: enough to find the answers in a learner's."""

    chapter: str
    stubs: dict[str, str]
    """What the learner starts from, by exercise."""
    parts: dict[str, list[str]]
    """The parts of mytorch that an exercise is about."""
    shares: dict[str, list[list[str]]]
    """Which of them are scored together."""
    cells: dict[str, str]
    """The role of each cell, by its id."""
    solutions: dict[str, str]
    """The exercise of each solution cell, by its id."""


def chapter_of(notebook: Any, stem: str, chapters: Collection[str]) -> str:
    """The chapter that a submission belongs to, by its metadata.

    Args:
        notebook: the submission.
        stem: the file's name, without its ending.
        chapters: those that there are.

    Raises:
        RejectedError: none of `chapters`, or another one than the file's name says.
    """
    ours = notebook.metadata.get(_OURS)
    chapter = ours.get("chapter") if isinstance(ours, dict) else None
    if not isinstance(chapter, str):
        raise RejectedError("not a notebook of this course: its metadata name no chapter")
    if chapter not in chapters:
        raise RejectedError(f"chapter {chapter[:60]!r} has no reference here")
    if stem in chapters and stem != chapter:
        raise RejectedError(f"the file is called {stem}, but holds chapter {chapter}")
    return chapter


def solutions_of(notebook: Any, outline: Outline) -> Submission:
    """The solution cells of a submission whose exercises the outline knows."""
    cells: list[Any] = renamed.notebook_now(notebook).cells
    found: dict[str, list[str]] = {name: [] for name in outline.stubs}
    unknown = 0
    made = Submission(outline.chapter, {}, [])
    for cell in cells:
        if cell.cell_type != "code":
            continue
        if exercise := _exercise(cell, outline):
            found[exercise].append(cell.source)
        elif cell.get("id") not in outline.cells and cell.source.strip():
            unknown += 1
    made.names.extend(itertools.islice(_names(cells, outline), _MOST_NAMES))
    for name, sources in found.items():
        if len(sources) > 1:
            made.notes.append(f"{name}: {len(sources)} cells, joined in order")
        if not sources:
            continue
        with_code = [text for text in sources if has_code(text, outline.stubs[name])]
        made.solutions[name] = "\n\n".join(with_code or sources[:1])
        if with_code:
            made.answered.append(name)
            _find_idle(made, name, outline)
    if unknown:
        made.notes.append(f"{unknown} code cell{'s' * (unknown > 1)} that the learner added not run")
    return made


def _find_idle(made: Submission, exercise: str, outline: Outline) -> None:
    """Note why an answer, or some of its parts, need no run."""
    text = made.solutions[exercise]
    if len(text) > MOST_CODE:
        made.solutions[exercise] = ""
        long = f"the solution cell has {len(text):,} characters, and at most {MOST_CODE:,} are read"
        made.idle[exercise] = ("error", long)
        return
    for share in outline.shares[exercise]:
        told = credit.untried(text, outline.stubs[exercise], share)
        if told[0]:
            made.idle[credit.key(exercise, share)] = told


def _exercise(cell: Any, outline: Outline) -> str:
    """The exercise that a code cell answers; empty if it answers none."""
    about = cell.metadata.get("nbgrader")
    name = about.get("grade_id") if isinstance(about, dict) else None
    return name if isinstance(name, str) and name in outline.stubs else ""


def _names(cells: list[Any], outline: Outline) -> Iterator[tuple[str, str, list[str]]]:
    """For each code cell: which it is, the exercise that it answers, and the names that it defines."""
    left = _MOST_READ
    for number, cell in enumerate(cells, 1):
        text = cell.source
        if cell.cell_type != "code" or outline.cells.get(cell.get("id")) == "check":
            continue  # what a check defines is not there for solutions
        left -= len(text)
        if len(text) > MOST_CODE or left < 0:
            continue
        try:
            names = sorted(defined(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the learner's cells may hold anything
            continue
        if names:
            first = next(iter(text.strip().splitlines()))
            yield f"cell {number}, `{first[:60]}`", _exercise(cell, outline), names
