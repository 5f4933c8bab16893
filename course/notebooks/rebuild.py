"""The learner's notebooks when they are built anew or reset: what the learner wrote stays."""

import copy
import shutil
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, ValidationError

from course import renamed
from course.files import Course, backup
from course.notebooks.notebook import OURS, exercise_of, role, v4, write
from course.source.cells import has_code, text_id
from course.source.parts import with_new_stubs

_STUB = "raise NotImplementedError()"  # the last line of a stub, of whatever build


def learners_text(course: Course, built: NotebookNode, name: str) -> tuple[str, list[Path]]:
    """The text of the notebook `name` in `course.exercises`: the built one, with what the learner wrote in it.

    Returns:
        The text, and the copies kept in `my/backups`: one if a notebook in which the learner worked changes.
    """
    path, text = course.exercises / name, write(built)
    if not path.exists():
        return write(with_moved(course, built, built)), []
    before, theirs = path.read_text(encoding="utf-8", errors="replace"), read(path)
    if theirs is None:
        return text, [back_up(course, path)]
    old = read(course.pristine / name) or built
    merged = with_work(built, old, theirs)
    if merged is built:
        return write(with_moved(course, built, built)), []
    if write(old) == text:
        return before, []
    return write(with_moved(course, merged, built)), [back_up(course, path)]


def with_work(built: NotebookNode, old: NotebookNode, theirs: NotebookNode) -> NotebookNode:
    """The built notebook with the solutions and the cells of the learner's, which was made from `old`.

    Returns:
        `built` itself if the learner wrote nothing.
    """
    answers, added = _work(built, old, theirs)
    if not answers and not added:
        return built
    merged = copy.deepcopy(built)
    run = {(cell.id, cell.source): cell for cell in theirs.cells if cell.cell_type == "code"}
    cells = added.get("", [])
    for cell in merged.cells:
        name = exercise_of(cell)
        ran = answers.get(name) if role(cell) == "solution" else run.get((cell.id, cell.source))
        if ran is not None and (not name or name in answers):
            cell.source, cell.outputs, cell.execution_count = ran.source, ran.outputs, ran.execution_count
        cells += [cell, *added.get(cell.id, [])]
    merged.cells = cells
    return merged


def with_moved(course: Course, notebook: NotebookNode, built: NotebookNode) -> NotebookNode:
    """The learner's notebook with answers to exercises that were in another notebook of theirs; itself if none are."""
    stubs = _stubs(built)
    found: dict[str, str] = {}
    for name, chapter in renamed.MOVED.items():
        before = read(course.exercises / f"{chapter}.ipynb") if name in stubs else None
        for cell in before.cells if before is not None else []:
            if moved(cell) == name and has_code(cell.source, stubs[name]):
                found.setdefault(name, cell.source)
    made = copy.deepcopy(notebook) if found else notebook
    for cell in made.cells if found else []:
        if role(cell) == "solution" and not has_code(cell.source, stubs[exercise_of(cell)]):
            cell.source = found.get(exercise_of(cell), cell.source)
    return made


def moved(cell: NotebookNode) -> str:
    """The exercise that a cell of an earlier notebook answers, if that is in another notebook now; else nothing."""
    about = cell.metadata.get("nbgrader")
    name = str(cell.metadata.get(OURS, {}).get("moved") or (isinstance(about, dict) and about.get("grade_id")))
    return name if name in renamed.MOVED and role(cell) in ("", "solution") else ""


def outdated(path: Path, built: NotebookNode) -> str:
    """Why the learner's notebook is not what the sources make; empty if it is, or if it holds a solution."""
    if not path.exists():
        return "missing"
    theirs = read(path)
    if theirs is None:
        return "is no notebook"
    stubs = _stubs(built)
    solutions = [cell for cell in theirs.cells if role(cell) == "solution" and _STUB not in cell.source]
    if any(has_code(cell.source, stubs.get(exercise_of(cell), "")) for cell in solutions):
        return ""
    return "" if _given(theirs) == _given(built) else "differs from its source"


def read(path: Path) -> NotebookNode | None:
    """The notebook in a file; None if there is none."""
    try:
        notebook: NotebookNode = v4.reads(path.read_text(encoding="utf-8"))
        write(notebook)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ValidationError):
        return None
    return notebook


def back_up(course: Course, path: Path) -> Path:
    """Copy a file into `my/backups`, under a number of its own; where the copy is."""
    return Path(shutil.copyfile(path, backup(course, path)))


def _work(
    built: NotebookNode, old: NotebookNode, theirs: NotebookNode
) -> tuple[dict[str, NotebookNode], dict[str, list[NotebookNode]]]:
    """The learner's solution cells, by exercise, and their other cells, by the id of the built cell before them."""
    old, theirs = renamed.notebook_now(old), renamed.notebook_now(theirs)
    now = _stubs(built)
    stubs, places = {**now, **_stubs(old)}, {cell.id for cell in built.cells}
    answers: dict[str, NotebookNode] = {}
    added: dict[str, list[NotebookNode]] = {}
    given = {(cell.id, cell.source) for cell in old.cells}
    after, ids = "", set(places)
    for cell in theirs.cells:
        name = exercise_of(cell)
        if (cell.id, cell.source) in given or _is_plain(cell) or role(cell) in ("task", "setup", "check"):
            pass
        elif role(cell) == "solution" and name in now and name not in answers:
            if cell.source.strip() not in ("", stubs[name].strip()):
                answers[name] = cell
                cell.source = with_new_stubs(cell.source, stubs[name], now[name])
        elif cell.source.strip():
            added.setdefault(after, []).append(_own(cell, ids))
        after = cell.id if cell.id in places else after
    return answers, added


def _stubs(notebook: NotebookNode) -> dict[str, str]:
    return {exercise_of(cell): cell.source for cell in notebook.cells if role(cell) == "solution"}


def _is_plain(cell: NotebookNode) -> bool:
    """Whether this is a cell of no exercise as some build made it: its id is made from its text."""
    return str(cell.id).startswith(text_id(cell.source))


def _own(cell: NotebookNode, ids: set[str]) -> NotebookNode:
    """A cell of the learner's, with an id of its own and without the marks of ours."""
    own, elsewhere = copy.deepcopy(cell), moved(cell)
    for key in (OURS, "nbgrader", "deletable", "editable"):
        own.metadata.pop(key, None)
    if elsewhere:
        own.metadata[OURS] = {"moved": elsewhere}
    number = 1
    while own.id in ids:
        number += 1
        own.id = f"{cell.id[:56]}-{number}"
    ids.add(own.id)
    return own


def _given(notebook: NotebookNode) -> list[Any]:
    given = [cell for cell in notebook.cells if role(cell) not in ("", "solution")]
    return [(role(cell), exercise_of(cell), cell.source) for cell in given]
