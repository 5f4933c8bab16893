"""What the learner has done, what comes next, and starting an exercise anew."""

from pathlib import Path

from rich.table import Table

from course import package, practice
from course.files import Course, write_atomically
from course.notebook import exercise_of, v4, write
from course.rebuild import back_up, read, with_work


def table(course: Course) -> Table:
    """Every exercise with its points, and the parts of the package that are the learner's; it fits 80 columns."""
    hints = practice.hints_given(course)
    rows = [(exercise, practice.is_kept(course, exercise)) for exercise in practice.exercises(course)]
    earned = sum(exercise.points for exercise, done in rows if done)
    parts = [(_parts(exercise), done) for exercise, done in rows]
    owned = sum(len(names) for names, done in parts if done)
    shown = Table(show_footer=True)
    shown.add_column("exercise", f"{sum(done for _, done in rows)} of {len(rows)} done", no_wrap=True)
    shown.add_column(
        "points", f"{earned}/{sum(exercise.points for exercise, _ in rows)}", justify="right", no_wrap=True
    )
    shown.add_column("hints", justify="right", no_wrap=True)
    shown.add_column("your parts", f"{owned} of {sum(len(names) for names, _ in parts)}", overflow="fold")
    chapter = ""
    for exercise, done in rows:
        if exercise.chapter != chapter:
            chapter = exercise.chapter
            shown.add_row(chapter, style="bold")
        shown.add_row(
            f"{'✓' if done else ' '} {exercise.name}",
            str(exercise.points) if done else f"–/{exercise.points}",
            f"{hints.get(exercise.name, 0)}/{len(exercise.hints)}",
            "\n".join(_parts(exercise)) if done else "",
            style="green" if done else "",
        )
    return shown


def _parts(exercise: practice.Exercise) -> list[str]:
    """The parts of mytorch or minitorch that an exercise is about."""
    return [*exercise.parts, *filter(None, [exercise.replaces])]


def following(course: Course) -> practice.Exercise | None:
    """The first exercise that is not done yet."""
    return next((exercise for exercise in practice.exercises(course) if not practice.is_kept(course, exercise)), None)


def reset(course: Course, name: str) -> list[Path]:
    """Give an exercise, or a whole notebook, back as it was built.

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
