"""`course build`: notebooks from the chapters' sources, the same bytes on every run."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course import execute, notebook
from course.check import PRACTICE_SEED
from course.files import Course, write_atomically
from course.notebook import v4
from course.source import Cell, SourceError, read_cells, read_exercises

WORKERS = 2


def build(course: Course, chapters: Iterable[str] = (), to: Course | None = None) -> list[Path]:
    """Build the named chapters (all, if none is named) into the folders of `to` (the course's own).

    Returns:
        The notebooks written.

    Raises:
        SourceError: a source breaks a rule, a cell raised, a mutant passed; all such messages, a line each.
    """
    folders = _folders(course, list(chapters))
    target = to or course
    jobs = [job for folder in folders for job in _jobs(course, target, folder)]
    written, errors = [], []
    for result in execute.run(*jobs, workers=WORKERS):
        if isinstance(result, SourceError):
            errors.append(str(result))
        elif isinstance(result, BaseException):
            raise result
        else:
            for path, text in result.items():
                write_atomically(path, text)
                written.append(path)
    if errors:
        raise SourceError("\n".join(errors))
    return written


def differences(course: Course, chapters: Iterable[str] = ()) -> list[str]:
    """The built notebooks that a new build would change, one would add or one has left behind, images aside."""
    chapters = list(chapters)
    with tempfile.TemporaryDirectory(prefix="course-build-") as name:
        fresh = Course(Path(name))
        built = {path.relative_to(fresh.root) for path in build(course, chapters, to=fresh)}
        if not chapters:
            folders = (course.notebooks, course.exercises, course.pristine, course.solutions)
            built |= {path.relative_to(course.root) for folder in folders for path in folder.glob("*.ipynb")}
        return [
            f"{path}: {message}"
            for path in sorted(built)
            if (message := _difference(course.root / path, fresh.root / path))
        ]


def _folders(course: Course, chapters: list[str]) -> list[Path]:
    folders = sorted(folder for folder in course.chapters.glob("[0-9][0-9]_*") if folder.is_dir())
    for chapter in chapters:
        if not any(chapter in (folder.name, folder.name[:2]) for folder in folders):
            raise SourceError(f"{course.chapters}: no chapter {chapter!r}")
    chosen = [folder for folder in folders if not chapters or folder.name in chapters or folder.name[:2] in chapters]
    names: dict[str, Cell] = {}  # unique in the whole course, so every chapter is read
    for folder in folders:
        if (path := folder / "exercises.py").exists():
            for cell in read_cells(path):
                name = cell.metadata.get("exercise")
                if name in names and names[name].path != path:
                    raise cell.error(f"duplicate exercise {name!r}, also at {names[name].path}:{names[name].line}")
                if name is not None:
                    names[name] = cell
    return chosen


def _jobs(course: Course, target: Course, folder: Path) -> Iterator[Any]:
    if (folder / "lesson.py").exists():
        yield _lesson(course, target.notebooks / f"{folder.name}.ipynb", folder / "lesson.py")
    if (folder / "exercises.py").exists():
        yield _exercises(course, target, folder / "exercises.py")


async def _lesson(course: Course, path: Path, source: Path) -> dict[Path, str]:
    cells = read_cells(source)
    built = notebook.lesson(source.parent.name, cells)
    course.notebooks.mkdir(exist_ok=True)
    try:
        await execute.execute(built, course.notebooks, course.root, PRACTICE_SEED)
    except execute.CellError as error:
        raise cells[error.index].error(str(error)) from error
    _refuse_machine_text(built, cells, course)
    return {path: notebook.write(built)}


async def _exercises(course: Course, target: Course, path: Path) -> dict[Path, str]:
    source = read_exercises(path)
    built = notebook.reference(source)
    kept = [cell for cell in source.cells if cell.role not in ("hint", "mutant")]
    course.solutions.mkdir(exist_ok=True)
    try:
        says = await execute.execute_reference(built, course.solutions, course.root, PRACTICE_SEED)
    except execute.CellError as error:
        raise kept[error.index].error(str(error)) from error
    except execute.WeakCheckError as error:
        raise next(cell for cell in kept if cell.metadata.get("check") == error.exercise).error(str(error)) from error
    _refuse_machine_text(built, kept, course)
    exercises = notebook.learners(built, says)
    name = f"{source.chapter}.ipynb"
    texts = {target.solutions / name: built, target.exercises / name: exercises, target.pristine / name: exercises}
    return {place: notebook.write(made) for place, made in texts.items()}


def _refuse_machine_text(built: NotebookNode, cells: list[Cell], course: Course) -> None:
    for index, text in execute.addresses_or_paths(built, course.root):
        raise cells[index].error(f"the output holds {text!r}, which differs on another machine")


def _difference(old: Path, new: Path) -> str:
    if not old.exists():
        return "missing"
    if not new.exists():
        return "has no source"
    before, after = (_without_images(v4.reads(path.read_text(encoding="utf-8"))) for path in (old, new))
    if before == after:
        return ""
    for place, (was, now) in enumerate(zip(before.cells, after.cells, strict=False)):
        if was != now:
            key = next(key for key in (*was, *now) if was.get(key) != now.get(key))
            return f"cell {place} differs in its {key}"
    return "differs in its metadata or number of cells"


def _without_images(built: NotebookNode) -> NotebookNode:
    for cell in built.cells:
        for output in cell.get("outputs", []):
            for mime in [mime for mime in output.get("data", {}) if mime.startswith("image/")]:
                output.data[mime] = ""
    return built
