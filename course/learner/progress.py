"""What the learner has done, what comes next, and starting an exercise anew."""

import itertools
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from course.files import Course, write_atomically
from course.learner import names, package, practice
from course.notebooks.notebook import exercise_of, v4, write
from course.notebooks.rebuild import back_up, read, with_work

NAME, BAR = 25, 6  # characters: two chapters on a line of 80


def table(course: Course) -> Group:
    """Two chapters on a line, each with a bar and its points; below them how much of the whole is done.

    Chapters in which nothing is done are counted in one line, but for the one that comes next.
    """
    cells: list[list[Text]] = []
    earned = points = folded = 0
    coming = getattr(following(course), "chapter", "")
    for chapter, exercises in itertools.groupby(practice.exercises(course), lambda exercise: exercise.chapter):
        every = list(exercises)
        done = [exercise for exercise in every if practice.is_kept(course, exercise)]
        begun = bool(done) or every[0].chapter == coming
        folded += not begun
        here, of = _points(done), _points(every)
        earned, points = earned + here, points + of
        style = "green" if len(done) == len(every) else ""
        if not begun:
            continue
        cells.append([Text(text, style) for text in (_short(chapter), _bar(here, of), f"{here}/{of}")])
    shown = Table.grid(padding=(0, 1, 0, 0))
    for justify in ("left", "left", "right", "left", "left", "left", "right"):
        shown.add_column(justify=justify, no_wrap=True)
    half = (len(cells) + 1) // 2
    for left, right in itertools.zip_longest(cells[:half], cells[half:], fillvalue=()):
        shown.add_row(*left, "", *right)
    more = [Text(f"{folded} chapter{'s' * (folded > 1)} not begun", "dim")] if folded else []
    return Group(shown, *more, Text(f"all {_bar(earned, points)} {earned}/{points} points", "bold"))


def _short(chapter: str) -> str:
    """As many of the words of a chapter's name as there is room for."""
    words = chapter.split("_")
    while len(" ".join(words)) > NAME or words[-1] == "and":
        words.pop()
    return " ".join(words)


def table_of(course: Course, chapter: str) -> Table:
    """A line for each exercise of a chapter; below it the parts of the package that it is about."""
    hints = practice.hints_given(course)
    shown = _table(chapter, "points", "hints")
    for exercise in (each for each in practice.exercises(course) if each.chapter == chapter):
        done = practice.is_kept(course, exercise)
        parts = [f"      {part.partition(':')[2]}" for part in _parts(exercise)]
        shown.add_row(
            "\n".join([f"{'✓' if done else ' '} {exercise.name}", *parts]),
            f"{exercise.points if done else '–'}/{exercise.points}",
            f"{hints.get(exercise.name, 0)}/{len(exercise.hints)}",
            style="green" if done else "",
        )
    return shown


def _table(first: str, *others: str) -> Table:
    """A table without lines, which fits 80 columns and breaks no name."""
    shown = Table(first, box=None, padding=(0, 1, 0, 0))
    for name in others:
        shown.add_column(name, justify="right")
    for column in shown.columns:
        column.no_wrap = True
    return shown


def _bar(done: int, every: int) -> str:
    filled = BAR * done // max(1, every)
    return "█" * filled + "░" * (BAR - filled)


def _points(exercises: list[practice.Exercise]) -> int:
    return sum(exercise.points for exercise in exercises)


def _parts(exercise: practice.Exercise) -> list[str]:
    """The parts of mytorch or minitorch that an exercise is about."""
    return [*exercise.kind.parts, *filter(None, [exercise.kind.replaces])]


def following(course: Course) -> practice.Exercise | None:
    """The first exercise that is not done yet, from the chapter on in which one was solved last."""
    kept: list[practice.Exercise] = []
    left: list[practice.Exercise] = []
    for exercise in practice.exercises(course):
        (kept if practice.is_kept(course, exercise) else left).append(exercise)
    last = max(kept, key=lambda each: _solved_at(course, each), default=None)
    return min(left, key=lambda each: last is not None and each.key < last.key, default=None)


def _solved_at(course: Course, exercise: practice.Exercise) -> int:
    path = practice.solution_path(course, exercise.name)
    return path.stat().st_mtime_ns if path.exists() else 0


def next_line(course: Course) -> str:
    """A line that says what comes next."""
    exercise = following(course)
    if exercise is None:
        return "Every exercise is done."
    return f"Next: {exercise.name} in exercises/{exercise.chapter}.ipynb"


def reset(course: Course, name: str, notebook: Path | None = None) -> list[Path]:
    """Give an exercise, or a whole notebook, back as it was built.

    Args:
        name: an exercise; or a chapter, by its number, its name or the path of its notebook.
        notebook: where the exercise is; the chapter's own, if it is None.

    Returns:
        The copies kept of what was there, in `my/backups`.

    Raises:
        UnknownExerciseError: nothing is called so.
    """
    whole = names.chapter(course, name)
    exercises = [e for e in practice.exercises(course) if e.chapter == whole] or [practice.find(course, name)]
    chapter = exercises[0].chapter
    notebook, pristine = notebook or course.exercises / f"{chapter}.ipynb", course.pristine / f"{chapter}.ipynb"
    kept = [practice.solution_path(course, exercise.name) for exercise in exercises]
    backups = [back_up(course, path) for path in (notebook, *kept) if path.exists()]
    text = pristine.read_text(encoding="utf-8")
    if not whole and (theirs := read(notebook)) is not None:
        theirs.cells = [cell for cell in theirs.cells if exercise_of(cell) != name]
        built = v4.reads(text)
        if (rest := with_work(built, built, theirs)) is not built:
            text = write(rest)
    write_atomically(notebook, text)
    practice.note_reset(course, [exercise.name for exercise in exercises])
    for path in kept:
        path.unlink(missing_ok=True)
    if any(exercise.kind.parts for exercise in exercises):
        package.write(course)
    return backups
