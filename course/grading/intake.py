"""From a file of a class to submissions: reading it, and which chapters it answers."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from nbformat import NotebookNode

from course import renamed
from course.authoring.notebook import v4
from course.grading import find
from course.grading.find import RejectedError
from course.grading.merge import chapter_of, solutions_of
from course.grading.report import Result
from course.grading.submission import Submission
from course.reports.printable import printable, printable_path

Read = tuple[Result, Submission | None]
"""The result of a submission, which is "rejected" until it is graded, and the submission if there is one."""


class Reader:
    """Reads submissions. Nothing that a learner wrote is parsed anywhere else."""

    def __init__(self, sources: Mapping[str, Path]) -> None:
        """
        Args:
            sources: by chapter, the notebook that says which exercises it has: solved, or as built.
        """
        self._sources = sources
        self._notebooks: dict[str, NotebookNode] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""

    def read(self, path: Path) -> list[Read]:
        """Read a file: one submission, and one more for each chapter to which exercises that it answers have moved.

        Those are called "path#chapter". A file that cannot be graded is one result with the reason.
        """
        name = printable_path(path)
        try:
            content = find.content(path)
            digest = hashlib.sha256(content).hexdigest()
            return [
                (Result(f"{name}#{made.chapter}" if count else name, made.chapter, digest=digest), made)
                for count, made in enumerate(self._submissions(content, path.stem))
            ]
        except RejectedError as error:
            return [(Result(name, reason=printable(str(error))), None)]
        except (OSError, ValueError) as error:
            return [
                (Result(name, reason=printable(f"cannot be read: {getattr(error, 'strerror', None) or error}")), None)
            ]

    def _submissions(self, content: bytes, stem: str) -> list[Submission]:
        notebook = find.parsed(content)
        chapter = chapter_of(notebook, stem, list(self._sources))
        made = [solutions_of(notebook, self._reference(chapter))]
        moved = {name for name, before in renamed.MOVED.items() if before == chapter}
        for other in self._sources if moved else ():
            if other != chapter:
                found = solutions_of(notebook, self._reference(other))
                made += [found] if moved.intersection(found.answered) else []
        return made

    def _reference(self, chapter: str) -> NotebookNode:
        if chapter not in self._notebooks:
            self._notebooks[chapter] = v4.reads(self._sources[chapter].read_text(encoding="utf-8"))
        return self._notebooks[chapter]
