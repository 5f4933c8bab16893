"""From a file of a class to a submission: reading it, and which chapters it answers."""

from pathlib import Path

from nbformat import NotebookNode

from course import renamed
from course.authoring.cells import has_code
from course.authoring.notebook import v4
from course.grading.find import RejectedError, digest, read
from course.grading.merge import chapter_of, solutions_of, stubs_of
from course.grading.report import Result
from course.reports.printable import printable, printable_path


def read_in(path: Path, chapters: list[str]) -> tuple[Result, NotebookNode | None]:
    name = printable_path(path)
    try:
        notebook = read(path)
        return Result(name, chapter_of(notebook, path, chapters), digest=digest(path)), notebook
    except RejectedError as error:
        return Result(name, reason=printable(str(error))), None
    except (OSError, ValueError) as error:
        return Result(name, reason=printable(f"cannot be read: {getattr(error, 'strerror', None) or error}")), None


def with_moved(
    result: Result, notebook: NotebookNode | None, sources: dict[str, Path]
) -> list[tuple[Result, NotebookNode | None]]:
    """A submission, and once more for each chapter to which exercises that it answers have moved (`renamed.MOVED`)."""
    found = [(result, notebook)]
    if notebook is None or result.chapter not in renamed.MOVED.values():
        return found
    here = {name for name, before in renamed.MOVED.items() if before == result.chapter}
    for chapter, path in sources.items():
        reference = v4.reads(path.read_text(encoding="utf-8"))
        stubs = {name: stub for name, stub in stubs_of(reference).items() if name in here}
        answers = solutions_of(notebook, reference).solutions if stubs and chapter != result.chapter else {}
        if any(has_code(text, stubs[name]) for name, text in answers.items() if name in stubs):
            found.append((Result(f"{result.path}#{chapter}", chapter, digest=result.digest), notebook))
    return found
