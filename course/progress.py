"""What the learner has done, what comes next, and starting an exercise anew."""

import shutil
from pathlib import Path

from rich.table import Table

from course import practice
from course.files import Course, write_atomically
from course.notebook import exercise_of, role, v4, write


def table(course: Course) -> Table:
    """Every exercise with its points, and the parts of the package that are the learner's."""
    hints = practice.hints_given(course)
    rows = [(exercise, is_done(course, exercise)) for exercise in practice.exercises(course)]
    earned = sum(exercise.points for exercise, done in rows if done)
    parts = sum(done for exercise, done in rows if exercise.replaces)
    shown = Table(show_footer=True)
    shown.add_column("chapter", no_wrap=True)
    shown.add_column("exercise", f"{sum(done for _, done in rows)} of {len(rows)} done", no_wrap=True)
    shown.add_column("points", f"{earned} of {sum(exercise.points for exercise, _ in rows)}", justify="right")
    shown.add_column("hints", justify="right")
    shown.add_column(
        "your part of the package",
        f"{parts} of {sum(bool(exercise.replaces) for exercise, _ in rows)}",
        overflow="fold",
    )
    for exercise, done in rows:
        shown.add_row(
            exercise.chapter,
            exercise.name,
            str(exercise.points) if done else f"–/{exercise.points}",
            f"{hints.get(exercise.name, 0)}/{len(exercise.hints)}",
            (exercise.replaces or "") if done else "",
            style="green" if done else "",
        )
    return shown


def is_done(course: Course, exercise: practice.Exercise) -> bool:
    """Whether a solution passed the practice check and is kept."""
    return practice.solution_path(course, exercise.name).exists()


def following(course: Course) -> practice.Exercise | None:
    """The first exercise that is not done yet."""
    return next((exercise for exercise in practice.exercises(course) if not is_done(course, exercise)), None)


def reset(course: Course, name: str) -> list[Path]:
    """Give an exercise's cell, or a whole notebook, back as it was built.

    Args:
        name: an exercise, a chapter, or the path of a chapter's notebook.

    Returns:
        The copies kept of what was there, in `my/backups`.

    Raises:
        UnknownExerciseError: nothing is called so.
    """
    chapter = Path(name).stem
    whole = (course.pristine / f"{chapter}.ipynb").exists()
    exercises = (
        [e for e in practice.exercises(course) if e.chapter == chapter] if whole else [practice.find(course, name)]
    )
    chapter = exercises[0].chapter
    notebook, pristine = course.exercises / f"{chapter}.ipynb", course.pristine / f"{chapter}.ipynb"
    kept = [practice.solution_path(course, exercise.name) for exercise in exercises]
    backups = [_back_up(course, path) for path in (notebook, *kept) if path.exists()]
    if whole or not notebook.exists():
        write_atomically(notebook, pristine.read_text(encoding="utf-8"))
    else:
        current = v4.reads(notebook.read_text(encoding="utf-8"))
        for cell in current.cells:
            if role(cell) == "solution" and exercise_of(cell) == name:
                cell.source, cell.outputs, cell.execution_count = exercises[0].stub, [], None
        write_atomically(notebook, write(current))
    for path in kept:
        path.unlink(missing_ok=True)
    return backups


def _back_up(course: Course, path: Path) -> Path:
    folder = course.mine / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + sum(1 for _ in folder.glob(f"{path.stem}-*{path.suffix}"))
    return Path(shutil.copyfile(path, folder / f"{path.stem}-{number}{path.suffix}"))
