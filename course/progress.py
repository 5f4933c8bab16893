"""What the learner has done, what comes next, and starting an exercise anew."""

import itertools
from pathlib import Path

from rich import box
from rich.table import Table

from course import names, package, practice
from course.files import Course, write_atomically
from course.notebook import exercise_of, v4, write
from course.rebuild import back_up, read, with_work


def table(course: Course) -> Table:
    """A line for each chapter: how many exercises are done, the points, the hints, and the learner's parts."""
    hints = practice.hints_given(course)
    shown = _table("chapter", "done", "points", "hints", "your parts")
    total = [0] * 6
    for chapter, exercises in itertools.groupby(practice.exercises(course), lambda exercise: exercise.chapter):
        every = list(exercises)
        done = [exercise for exercise in every if practice.is_kept(course, exercise)]
        given = sum(hints.get(exercise.name, 0) for exercise in every)
        counts = [count(them) for count in (len, _points, _count_parts) for them in (done, every)]
        total = [before + now for before, now in zip(total, counts, strict=True)]
        style = "green" if len(done) == len(every) else ""
        shown.add_row(chapter, *_of(counts[:4]), str(given or ""), *_of(counts[4:]), style=style)
    shown.add_section()
    shown.add_row("all", *_of(total[:4]), "", *_of(total[4:]), style="bold")
    return shown


def table_of(course: Course, chapter: str) -> Table:
    """A line for each exercise of a chapter, with the parts of the package that it is about."""
    hints = practice.hints_given(course)
    shown = _table("exercise", "points", "hints", "parts")
    for exercise in (each for each in practice.exercises(course) if each.chapter == chapter):
        done = practice.is_kept(course, exercise)
        shown.add_row(
            f"{'✓' if done else ' '} {exercise.name}",
            f"{exercise.points if done else '–'}/{exercise.points}",
            f"{hints.get(exercise.name, 0)}/{len(exercise.hints)}",
            "\n".join(part.partition(":")[2] for part in _parts(exercise)),
            style="green" if done else "",
        )
    return shown


def _table(first: str, *others: str) -> Table:
    """A table that fits 80 columns without breaking a name."""
    shown = Table(first, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in others:
        shown.add_column(name, justify="left" if name == "parts" else "right")
    for column in shown.columns:
        column.no_wrap = True
    return shown


def _of(counts: list[int]) -> list[str]:
    return [f"{done} of {every}" if every else "" for done, every in zip(counts[::2], counts[1::2], strict=True)]


def _points(exercises: list[practice.Exercise]) -> int:
    return sum(exercise.points for exercise in exercises)


def _count_parts(exercises: list[practice.Exercise]) -> int:
    return sum(len(_parts(exercise)) for exercise in exercises)


def _parts(exercise: practice.Exercise) -> list[str]:
    """The parts of mytorch or minitorch that an exercise is about."""
    return [*exercise.parts, *filter(None, [exercise.replaces])]


def following(course: Course) -> practice.Exercise | None:
    """The first exercise that is not done yet."""
    return next((exercise for exercise in practice.exercises(course) if not practice.is_kept(course, exercise)), None)


def reset(course: Course, name: str) -> list[Path]:
    """Give an exercise, or a whole notebook, back as it was built.

    Args:
        name: an exercise; or a chapter, by its number, its name or the path of its notebook.

    Returns:
        The copies kept of what was there, in `my/backups`.

    Raises:
        UnknownExerciseError: nothing is called so.
    """
    whole = names.chapter(course, name)
    exercises = [e for e in practice.exercises(course) if e.chapter == whole] or [practice.find(course, name)]
    chapter = exercises[0].chapter
    notebook, pristine = course.exercises / f"{chapter}.ipynb", course.pristine / f"{chapter}.ipynb"
    kept = [practice.solution_path(course, exercise.name) for exercise in exercises]
    backups = [back_up(course, path) for path in (notebook, *kept) if path.exists()]
    text = pristine.read_text(encoding="utf-8")
    if not whole and (theirs := read(notebook)) is not None:
        theirs.cells = [cell for cell in theirs.cells if exercise_of(cell) != name]
        built = v4.reads(text)
        if (rest := with_work(built, built, theirs)) is not built:
            text = write(rest)
    write_atomically(notebook, text)
    for path in kept:
        path.unlink(missing_ok=True)
    if any(exercise.parts for exercise in exercises):
        package.write(course)
    return backups
