"""mytorch in a course: the reference, the learner's own in `my/mytorch`, and the copy that the build makes.

The learner's own package is written as files, so that `import mytorch` finds it in notebooks and scripts. It is the
reference's text with the kept solutions of the core exercises in it. Where `MINITORCH_COURSE_MYTORCH` names a folder
(in builds, tests and grades), that package takes the place of both.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from course import variables
from course.chapters import key
from course.files import Course, write_atomically
from course.learner import practice, withheld, written
from course.source import parts
from course.source.assemble import Files, as_of, assemble, load, read

MADE = ".made.json"
"""In the learner's own package: what it was made of, and its files. It is written last."""
given: Files | None = None
"""The package that a grader gives in memory: it takes the place of the reference's files."""


def reference(course: Course) -> Path:
    """The folder of the reference: a build's or a grader's own, or the one among the solutions."""
    return Path(os.environ.get(variables.MYTORCH, course.reference))


def is_learners() -> bool:
    """Whether the learner's parts count here; in builds, tests and grades they do not."""
    return variables.MYTORCH not in os.environ


def with_parts(
    course: Course, chapter: int | str, mine: Mapping[str, str], others: Iterable[str] = (), setup: Iterable[str] = ()
) -> ModuleType:
    """Import mytorch as of a chapter: these parts are the learner's, everything else is the reference's.

    So are `others`, though the learner's cells define them. What the cells use of the imports of `setup` comes along.
    """
    files = withheld.completed(course, read(reference(course))) if given is None else given
    return load(assemble(files, chapter, _with_imports(as_of(files, chapter), mine, list(setup)), others=others))


def solved(course: Course, chapter: int | str | None = None) -> dict[str, str]:
    """The learner's parts of all chapters, or of those up to one: the text of the kept solution, by part."""
    files = read(reference(course))
    kept: dict[str, str] = {}
    for exercise in practice.exercises(course):
        is_in_reach = chapter is None or exercise.key <= key(chapter)
        path = practice.solution_path(course, exercise.name)
        if exercise.kind.parts and is_in_reach and path.exists():
            text = path.read_text(encoding="utf-8")
            held = parts.held(text)  # not all of the parts, if the exercise has grown since
            mine = [part for part in exercise.kind.parts if parts.short(part) in held]
            if all(parts.has(files, part) for part in exercise.kind.parts):
                seen = as_of(files, exercise.key)
                kept |= _with_imports(seen, dict.fromkeys(mine, text), exercise.setup)
    reached = files if chapter is None else as_of(files, chapter)
    free = {part: text for part, text in written.texts(course, files).items() if parts.has(reached, part)}
    return free | kept


def _with_imports(files: Files, mine: Mapping[str, str], setup: list[str]) -> dict[str, str]:
    written = {files[parts.file_of(files, part)] for part in mine}
    cells = {text: parts.with_imports(text, setup, written) for text in {*mine.values()}}
    return {part: cells[text] for part, text in mine.items()}


def folder(course: Course) -> Path:
    """Where the learner's own package is."""
    return course.mine / "mytorch"


def write(course: Course) -> None:
    """Write the learner's own package, if the course has one. Each file is written whole, and only if it changes."""
    source = reference(course)
    if not source.is_dir():
        return
    files = read(source)
    mine = solved(course)
    missing = withheld.of(course)
    marks = {
        part: f"# yours (exercise {exercise.name})"
        if part in mine
        else f"# yours to write (exercise {exercise.name})"
        if part in missing
        else "# the reference's"
        for exercise in practice.exercises(course)
        for part in exercise.kind.parts
        if parts.has(files, part)
    }
    marks |= {part: "# yours (course write)" for part in mine if part not in marks}
    made_of = _state(_origins(course))
    copy(assemble(files, None, mine, marks), folder(course))
    write_atomically(folder(course) / MADE, json.dumps([made_of, _state(folder(course).rglob("*.py"))]))


def ensure(course: Course) -> None:
    """Write the learner's own package where it isn't whole, or not made of what there is now; make it importable."""
    source = reference(course)
    if not (is_learners() and source.is_dir()):
        return
    practice.exercises(course)  # sets aside what is damaged
    if _noted(course) != [_state(_origins(course)), _state(folder(course).rglob("*.py"))]:
        write(course)
    others = [place for place in sys.path if Path(place).name != course.mine.name]  # not another course's
    sys.path[:] = [*others, str(course.mine)]  # last: what is kept there has any name


def _origins(course: Course) -> Iterable[Path]:
    """What the learner's own package is made of."""
    return (*reference(course).rglob("*.py"), *course.mine.glob("*.py"), *course.mine.glob("written/*.py"))


def _state(paths: Iterable[Path]) -> dict[str, list[int]]:
    """Of files, what changes when they do."""
    return {str(path): [(about := path.stat()).st_mtime_ns, about.st_size] for path in paths}


def _noted(course: Course) -> Any:
    """What stood where when the package was last written whole; None if it never was."""
    try:
        return json.loads((folder(course) / MADE).read_bytes())
    except (OSError, ValueError):
        return None


def keep_passed(course: Course, notebook: Path, passed: Mapping[str, str]) -> None:
    """Keep what passed outside JupyterLab, if the notebook is one of the learner's own exercises.

    Args:
        notebook: where the solutions are from.
        passed: the solutions that are right, by exercise.
    """
    if not passed or notebook.resolve().parent != course.exercises:
        return
    for exercise in practice.exercises(course):
        if exercise.name in passed:
            practice.keep(course, exercise, passed[exercise.name])
    write(course)


def copy(files: Files, target: Path) -> list[Path]:
    """Make a folder hold these files and no other Python file; gives the files that changed."""
    old = {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*.py")}
    for name in old.keys() - files.keys():
        (target / name).unlink()
    changed = [target / name for name, text in files.items() if old.get(name) != text.encode()]
    for path in changed:
        write_atomically(path, files[path.relative_to(target).as_posix()])
    return changed
