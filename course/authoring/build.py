"""`course build`: notebooks from the chapters' sources, the same bytes on every run; the learner's work stays."""

import difflib
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course.authoring import jitter, places
from course.authoring.exceptions import exceptions
from course.chapters import PATTERN, key
from course.check import PRACTICE_SEED
from course.checks import bundle
from course.checks.mistakes import Mistake
from course.files import Course, write_atomically
from course.image import without_pixels
from course.learner import package
from course.notebooks import execute, notebook, rebuild
from course.notebooks.notebook import OURS, v4
from course.source import minutes
from course.source.assemble import as_of, read
from course.source.exercises import Cell, SourceError, read_cells, read_exercises
from course.source.parts import PartError

WORKERS = 2
MAY_DIFFER = "last digits: "
"""How the tag of a lesson's cell begins that shows the last digits of sums or products; the reason follows."""


def build(course: Course, chapters: Iterable[str] = (), to: Course | None = None, stored: bool = False) -> list[Path]:
    """Build the named chapters (all, if none is named) into the folders of `to` (the course's own).

    Args:
        stored: run nothing; lessons and reference answers get the outputs of the course's own.

    Returns:
        The files written: notebooks, and those of the reference of mytorch that changed.

    Raises:
        SourceError: a source breaks a rule, a cell raised, a mutant passed; all such messages, a line each.
    """
    target = to or course
    reference = course.chapters / "mytorch"
    folders, taken = _folders(course, list(chapters))
    jobs = [job for folder in folders for job in _jobs(course, target, folder, taken, stored)]
    written, errors = package.copy(read(reference), target.reference) if reference.is_dir() else [], []
    for result in execute.run(*jobs, workers=WORKERS):
        if isinstance(result, (SourceError, PartError)):
            errors.append(str(result))
        elif isinstance(result, BaseException):
            raise result
        else:
            for path, text in result.items():
                if text is not None:
                    write_atomically(path, text)
                written.append(path)
    if errors:
        raise SourceError("\n".join(errors))
    return written


def differences(course: Course, chapters: Iterable[str] = (), stored: bool = False) -> list[str]:
    """The built notebooks that a new build would change, one would add or one has left behind, images aside.

    A notebook in which the learner has solved an exercise is as it should be, whatever it holds. With `stored` nothing
    is run: nbval runs lessons and reference answers and compares what they show, and tests/course/test_exercises.py
    grades the mutants.
    """
    chapters = list(chapters)
    with tempfile.TemporaryDirectory(prefix="course-build-") as name:
        fresh = Course(Path(name))
        built = {path.relative_to(fresh.root) for path in build(course, chapters, fresh, stored)}
        if not chapters:
            folders = (course.notebooks, course.pristine, course.solutions)  # in exercises/ the learner may add some
            built |= {path.relative_to(course.root) for folder in folders for path in folder.glob("*.ipynb")}
            built |= {path.relative_to(course.root) for path in course.reference.rglob("*.py")}
        return [
            f"{path}: {message}"
            for path in sorted(built)
            if (message := _difference(course, course.root / path, fresh.root / path))
        ]


def differences_with_jitter(course: Course, machine: int, chapters: Iterable[str] = ()) -> list[str]:
    """The cells of lessons and solutions that show something else when sums and products have other last digits.

    See `course.authoring.jitter`. A cell with a tag "last digits: REASON" may.
    """
    names = [f"{folder.name}.ipynb" for folder in _folders(course, list(chapters))[0]]
    paths = [folder / name for folder in (course.notebooks, course.solutions) for name in names]
    found = execute.run(*(_with_jitter(course, path, machine) for path in paths if path.exists()), workers=1)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return [line for lines in found for line in lines]


async def _with_jitter(course: Course, path: Path, machine: int) -> list[str]:
    before, after = (v4.reads(path.read_text(encoding="utf-8")) for _ in range(2))
    after.cells.insert(0, v4.new_code_cell(jitter.SETUP.format(machine)))
    try:
        await execute.execute(after, path.parent, course.root, PRACTICE_SEED, course.reference)
    except execute.CellError as error:
        return [f"{path.relative_to(course.root)}: cell {error.index - 1} raises {str(error).splitlines()[-1]}"]
    del after.cells[0]
    found = []
    for place, (was, now) in enumerate(zip(_comparable(before).cells, _comparable(after).cells, strict=True)):
        _forget_last_digits(was, now)
        may_differ = any(tag.startswith(MAY_DIFFER) for tag in was.metadata.get("tags", []))
        if was.get("outputs") != now.get("outputs") and not may_differ:
            found.append(f"{path.relative_to(course.root)}: cell {place}\n{_changed_lines(was, now)}")
    return found


def _changed_lines(was: NotebookNode, now: NotebookNode) -> str:
    before, after = ([line for each in cell.outputs for line in _text(each).splitlines()] for cell in (was, now))
    return "\n".join(line for line in difflib.ndiff(before, after) if line[0] in "-+")


def _text(output: NotebookNode) -> str:
    """What an output shows in words."""
    return str(output.get("text") or output.get("evalue") or output.get("data", {}).get("text/plain", ""))


def _names(folder: Path) -> set[str]:
    """What a chapter may be called on the command line."""
    return {folder.name, str(key(folder.name))}


def _folders(course: Course, chapters: list[str]) -> tuple[list[Path], dict[str, str]]:
    """The folders of these chapters; and the parts that the learner writes in any chapter, with their exercises."""
    folders = sorted(folder for folder in course.chapters.iterdir() if re.match(f"{PATTERN}_", folder.name))
    for chapter in chapters:
        if not any(chapter in _names(folder) for folder in folders):
            raise SourceError(f"{course.chapters}: no chapter {chapter!r}")
    chosen = [folder for folder in folders if not chapters or _names(folder) & {*chapters}]
    taken: dict[str, str] = {}
    names: dict[str, Cell] = {}  # unique in the whole course, so every chapter is read
    checks: dict[str, Cell] = {}  # unique, too: a learner's check finds its exercise by its text
    for folder in folders:
        if (path := folder / "exercises.py").exists():
            for cell in read_cells(path):
                name = cell.metadata.get("exercise")
                if name in names and names[name].path != path:
                    raise cell.error(f"duplicate exercise {name!r}, also at {names[name].path}:{names[name].line}")
                if name is not None:
                    names[name] = cell
                    taken |= dict.fromkeys((part for group in cell.part_groups for part in group), name)
                if cell.role == "check" and (same := checks.setdefault(cell.text.strip(), cell)) is not cell:
                    raise cell.error(f"the check's text is that of {same.path}:{same.line}, and has to be its own")
    return chosen, taken


def _jobs(course: Course, target: Course, folder: Path, taken: dict[str, str], stored: bool) -> Iterator[Any]:
    if (folder / "lesson.py").exists():
        yield _lesson(course, target.notebooks / f"{folder.name}.ipynb", folder / "lesson.py", taken, stored)
    if (folder / "exercises.py").exists():
        yield _exercises(course, target, folder / "exercises.py", stored)


async def _lesson(course: Course, path: Path, source: Path, taken: dict[str, str], stored: bool) -> dict[Path, str]:
    cells = read_cells(source)
    reference, chapter = course.chapters / "mytorch", source.parent.name
    built = notebook.lesson(chapter, cells, as_of(read(reference), chapter), taken)
    course.notebooks.mkdir(exist_ok=True)
    if stored:
        _take_outputs(built, cells, course.notebooks / path.name)
    else:
        try:
            await execute.execute(built, course.notebooks, course.root, PRACTICE_SEED, reference)
        except execute.CellError as error:
            raise cells[error.index].error(str(error)) from error
    _refuse_machine_text(built, cells, course)
    minutes.announce(built, chapter, _minutes(source.parent / "exercises.py"))
    places.add(built, places.address(course.root), course.notebooks.name, chapter)
    return {path: notebook.write(built)}


def _minutes(exercises: Path) -> list[int]:
    cells = read_cells(exercises) if exercises.exists() else []
    return [cell.minutes for cell in cells if "exercise" in cell.metadata]


def _take_outputs(built: NotebookNode, cells: list[Cell], path: Path) -> None:
    stored = v4.reads(path.read_text(encoding="utf-8")).cells if path.exists() else []
    before = [cell for cell in stored if cell.id != places.COLAB]
    for cell, old, new in zip(cells, before, built.cells, strict=False):
        if old.cell_type == new.cell_type == "code":
            if old.execution_count is None:
                raise cell.error(f"never run in {path.name}, so that nbval compares nothing: build it")
            new.outputs = old.outputs


async def _exercises(course: Course, target: Course, path: Path, stored: bool) -> dict[Path, str | None]:
    """The texts of the notebooks; None for a copy that was kept of what the learner had written."""
    source = read_exercises(path)
    built = notebook.reference(source)
    kept = [cell for cell in source.cells if cell.role not in ("docstrings", "hint", "mutant", "variant", "machine")]
    name = f"{source.chapter}.ipynb"
    course.solutions.mkdir(exist_ok=True)
    if stored:
        _take_outputs(built, kept, course.solutions / name)
        mistakes = _stored_mistakes(built, course.pristine / name)
    else:
        try:
            mistakes = await execute.execute_reference(
                built, course.solutions, course.root, PRACTICE_SEED, course.chapters / "mytorch"
            )
        except execute.CellError as error:
            raise kept[error.index].error(str(error)) from error
        except execute.WeakCheckError as error:
            check = next(cell for cell in kept if cell.metadata.get("check") == error.exercise)
            raise check.error(str(error)) from error
    _refuse_warnings(built, kept)
    _refuse_undeclared_exceptions(built, kept)
    _refuse_machine_text(built, kept, course)
    notebook.scroll_long_outputs(built)
    exercises = notebook.learners(built, mistakes)
    for each, folder in ((built, course.solutions), (exercises, course.exercises)):
        places.add(each, places.address(course.root), folder.name, source.chapter)
    learners, copies = rebuild.learners_text(target, exercises, name)
    return {
        target.solutions / name: notebook.write(built),
        target.exercises / name: learners,
        target.pristine / name: notebook.write(exercises),
        **dict.fromkeys(copies),
    }


def _stored_mistakes(built: NotebookNode, path: Path) -> dict[str, list[Mistake]]:
    known = notebook.tasks(v4.reads(path.read_text(encoding="utf-8"))) if path.exists() else {}
    return {exercise: known.get(exercise, {}).get("mutants", []) for exercise in notebook.tasks(built)}


def _refuse_machine_text(built: NotebookNode, cells: list[Cell], course: Course) -> None:
    for index, text in execute.addresses_or_paths(built, course.root):
        raise cells[index].error(f"the output holds {text!r}, which differs on another machine")


def _refuse_warnings(built: NotebookNode, cells: list[Cell]) -> None:
    """A reference that warns does something that no learner should copy, or its check's inputs are wrong."""
    for cell, made in zip(cells, built.cells, strict=True):
        for output in made.get("outputs", []):
            if output.get("name") == "stderr":
                raise cell.error(f"the reference writes to stderr: {output['text'].strip()}")


def _refuse_undeclared_exceptions(built: NotebookNode, cells: list[Cell]) -> None:
    for cell, made in zip(cells, built.cells, strict=True):
        for output in made.get("outputs", []) if cell.role == "check" else []:
            if bundle.MIME in output.get("data", {}):
                found = exceptions(output.data[bundle.MIME]["values"])
                declared = sorted(str(cell.metadata.get("raises", "")).split())
                cell.expect(found == declared, f"its values hold exceptions: {found}; raises= declares {declared}")


def _difference(course: Course, old: Path, new: Path) -> str:
    if old.parent == course.exercises:
        return rebuild.outdated(old, v4.reads(new.read_text(encoding="utf-8")))
    if not old.exists():
        return "missing"
    if not new.exists():
        return "has no source"
    if old.suffix == ".py":
        return "" if old.read_bytes() == new.read_bytes() else "differs from its source"
    before, after = (_comparable(v4.reads(path.read_text(encoding="utf-8"))) for path in (old, new))
    for was, now in zip(before.cells, after.cells, strict=False):
        _forget_last_digits(was, now)
    if before == after:
        return ""
    for place, (was, now) in enumerate(zip(before.cells, after.cells, strict=False)):
        if was != now:
            key = next(key for key in (*was, *now) if was.get(key) != now.get(key))
            return f"cell {place} differs in its {key}"
    return "differs in its metadata or number of cells"


def _forget_last_digits(was: NotebookNode, now: NotebookNode) -> None:
    """Where both show the same values within the check's tolerance, `now` gets the output of `was`.

    Another processor adds in another order, so the last digits differ.
    """
    outputs = zip(was.get("outputs", []), now.get("outputs", []), strict=False)
    for place, (old, new) in enumerate(outputs):
        shown, again = (output.get("data", {}).get(bundle.MIME) for output in (old, new))
        same_tolerance = shown and again and (shown["rtol"], shown["atol"]) == (again["rtol"], again["atol"])
        if same_tolerance and not bundle.difference(shown, again):
            now.outputs[place] = old


def _comparable(built: NotebookNode) -> NotebookNode:
    """The notebook without images, and without what JupyterLab changes when somebody runs it and saves it."""
    built.metadata = {OURS: built.metadata.get(OURS)}
    for cell in built.cells:
        cell.pop("execution_count", None)
        for name in ("collapsed", "execution", "scrolled"):
            cell.metadata.pop(name, None)
        ours = cell.metadata.get(OURS, {})
        for mutant in ours.get("mutants", []):
            mutant.pop("values", None)  # they depend on last digits
        for output in cell.get("outputs", []):
            output.pop("execution_count", None)
            output.pop("traceback", None)
            for mime in [mime for mime in output.get("data", {}) if mime.startswith("image/")]:
                output.data[mime] = ""
            if "text/html" in output.get("data", {}):
                output.data["text/html"] = without_pixels(output.data["text/html"])
    return built
