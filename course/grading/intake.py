"""From a file of a class to submissions: its bytes are read in a sandbox, and what comes back is checked."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nbformat import NotebookNode

from course.checks import credit
from course.checks.printable import MAX_MESSAGE, printable, printable_path
from course.grading import find, reading
from course.grading.merge import Outline
from course.grading.report import Result
from course.grading.served import Served
from course.grading.submission import RejectedError, Submission
from course.notebooks.notebook import OURS, exercise_of, read_built, role, tasks
from course.sandbox import launch
from course.sandbox.launch import SandboxError
from course.source.kinds import kind_of

Read = tuple[Result, Submission | None]
"""The result of a submission, which is "rejected" until it is graded, and the submission if there is one."""

_FILES = (
    *("__init__", "files", "parsed", "renamed"),
    *(f"source/{name}" for name in ("cells", "fitting", "ipython", "parts", "renaming", "statements")),
    *("checks/credit", "grading/merge", "grading/submission"),
)
_MOST_ANSWER = 64 << 20  # bytes
_MOST_REASON = 500  # characters
_MOST_NOTE = 200


class Reader:
    """Reads submissions. Nothing that a learner wrote is parsed anywhere else."""

    def __init__(self, sources: Mapping[str, Path], apart: bool = True) -> None:
        """
        Args:
            sources: by chapter, the notebook that says which exercises it has: solved, or as built.
            apart: read in a sandbox; without, in this process, which is for the learner's own notebooks.
        """
        self._sources, self._outlines = sources, {name: outline_of(path) for name, path in sources.items()}
        first = {name: asdict(outline) for name, outline in self._outlines.items()}
        self._served = Served("reading", _FILES, first, _MOST_ANSWER) if apart and launch.can_fork() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process that reads."""
        if self._served is not None:
            self._served.close()

    @property
    def points(self) -> dict[str, int]:
        """The points of each chapter."""
        return {name: outline.points for name, outline in self._outlines.items()}

    def read(self, path: Path) -> list[Read]:
        """Read a file: one submission, and one more for each chapter to which exercises that it answers have moved.

        Those are called "path#chapter". A file that cannot be graded is one result with the reason.
        """
        name, at = printable_path(path), find.submitted_at(path)
        try:
            content = find.content(path)
            digest = hashlib.sha256(content).hexdigest()
            return [
                (
                    Result(f"{name}#{made.chapter}" if count else name, made.chapter, digest=digest, submitted_at=at),
                    made,
                )
                for count, made in enumerate(self._submissions(path.stem, content))
            ]
        except RejectedError as error:
            return [(Result(name, submitted_at=at, reason=_short(str(error), _MOST_REASON)), None)]
        except OSError as error:
            return [
                (
                    Result(
                        name, submitted_at=at, reason=_short(f"cannot be read: {error.strerror or error}", _MOST_REASON)
                    ),
                    None,
                )
            ]
        except SandboxError as error:
            return [(Result(name, status="not graded", submitted_at=at, reason=printable(str(error))), None)]

    def _submissions(self, stem: str, content: bytes) -> list[Submission]:
        if self._served is None:
            return reading.read(self._outlines, stem, content)
        told = self._served.ask(stem, content)
        try:
            if "rejected" not in told:
                return [_checked(self._outlines, **each) for each in told["submissions"]]
            reason = str(told["rejected"])
        except (TypeError, ValueError, LookupError, AttributeError):  # nothing came back, or nothing of ours
            seconds, memory = reading.LIMITS["CPU"], reading.LIMITS["AS"] >> 30
            reason = f"cannot be read in {seconds} seconds and {memory} GiB of memory"
        raise RejectedError(reason)


def outline_of(source: Path | NotebookNode) -> Outline:
    """What is known about a chapter's notebook, solved or as built."""
    notebook = read_built(source) if isinstance(source, Path) else source
    kinds = {name: kind_of(about) for name, about in tasks(notebook).items()}
    solutions = [cell for cell in notebook.cells if role(cell) == "solution"]
    return Outline(
        notebook.metadata[OURS]["chapter"],
        {exercise_of(cell): cell.metadata[OURS].get("stub", cell.source) for cell in solutions},
        {name: list(kind.parts) for name, kind in kinds.items()},
        {name: [share.parts for share in kind.shares] for name, kind in kinds.items()},
        {name: list(kind.names) for name, kind in kinds.items()},
        {cell.id: role(cell) for cell in notebook.cells},
        {cell.id: exercise_of(cell) for cell in solutions},
        {cell.source.strip(): exercise_of(cell) for cell in notebook.cells if role(cell) in ("setup", "check")},
        sum(about["points"] for about in tasks(notebook).values()),
    )


def _checked(outlines: Mapping[str, Outline], **told: Any) -> Submission:
    """What the process answered, if it is what it should be; texts for a report are cut and made printable.

    Raises:
        TypeError, ValueError, LookupError, AttributeError: it is not.
    """
    made = Submission(**told)
    outline = outlines[made.chapter]
    exercises = outline.stubs.keys()
    keys = {credit.key(name, share) for name, shares in outline.shares.items() for share in shares} | exercises
    is_ours = (
        made.solutions.keys() <= exercises
        and all(isinstance(text, str) for text in made.solutions.values())
        and set(made.answered) <= made.solutions.keys()
        and made.idle.keys() <= keys
        and all(status in credit.UNTRIED for status, _ in made.idle.values())
        and all(owner in {"", *exercises} for _, owner, _ in made.names)
        and all(isinstance(name, str) for _, _, names in made.names for name in names)
    )
    if not is_ours:
        raise ValueError("the reader's answer is of another form")
    return Submission(
        made.chapter,
        made.solutions,
        [name for name in made.solutions if name in made.answered],
        [_short(note, _MOST_NOTE) for note in made.notes],
        [(_short(cell, _MOST_NOTE), owner, names) for cell, owner, names in made.names],
        {key: (status, _short(message, MAX_MESSAGE)) for key, (status, message) in made.idle.items()},
    )


def _short(text: str, most: int) -> str:
    """A text for a report, printable and cut to a length."""
    shown = printable(text[:most])
    return shown if len(text) <= most and len(shown) <= most else f"{shown[: most - 1]}…"


def of_assignment(read: list[Read], chapter: str) -> list[Read]:
    """Of what a file holds what answers this chapter; else one rejected result that says what it holds instead.

    A file that cannot be read was handed in for this chapter as well, so that its student has a row there.
    """
    result, submission = read[0]
    if found := [pair for pair in read if pair[0].chapter == chapter]:
        return found
    if submission is None:
        return [(replace(result, chapter=chapter), None)]
    reason = f"a notebook of {result.chapter}, and the assignment is {chapter}"
    return [(replace(result, chapter=chapter, reason=reason), None)]
