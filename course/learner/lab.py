"""What JupyterLab's buttons ask the kernel for: course/jupyter/share/jupyter/labextensions/minitorch-course.

They evaluate an expression that runs no hook of the notebook's, and read its value as JSON.
"""

from pathlib import Path
from typing import Any

from course.files import Course
from course.learner import practice, progress, ran


class Reply:
    """A value that a notebook's front end gets as JSON."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def _repr_json_(self) -> dict[str, Any]:
        return self.values


def hint(name: str = "") -> Reply:
    """The next hint of an exercise; of the one that comes next, if none is named."""
    course = Course.find()
    exercise = name or getattr(progress.following(course), "name", "")
    return Reply(exercise=exercise, text=practice.next_hint(course, exercise) if exercise else _left(course))


def following() -> Reply:
    """The exercise that comes next, and its chapter; empty where every one is done."""
    course = Course.find()
    exercise = progress.following(course)
    chapter = exercise.chapter if exercise else ""
    return Reply(exercise=exercise.name if exercise else "", chapter=chapter, text=_left(course))


def on_screen(name: str, text: str) -> Reply:
    """Take what stands in the cell for an answer, just before its check runs."""
    ran.on_screen[name] = text
    return Reply()


def reset(name: str, notebook: str) -> Reply:
    """Give an exercise back as it was, in a notebook of the kernel's folder; where the learner's work is copied to."""
    course = Course.find()
    copies = progress.reset(course, name, Path.cwd() / notebook)
    return Reply(exercise=name, text="\n".join(f"kept a copy: {path.relative_to(course.root)}" for path in copies))


def _left(course: Course) -> str:
    return progress.next_line(course)
