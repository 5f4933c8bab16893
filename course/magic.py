"""`%check NAME` in a notebook: the same as running the check cell of the exercise."""

from typing import Any

from course.files import Course
from course.learner import practice


def load(shell: Any) -> None:
    """Give IPython's shell the magic."""

    def check(line: str) -> None:
        """%check NAME: check the exercise NAME, as its check cell does."""
        name = line.strip()
        if not name:
            print("Say which exercise: %check NAME.")
            return
        try:
            exercise = practice.find(Course.find(), name)
        except practice.UnknownExerciseError as error:
            print(error.args[0])
            return
        shell.run_cell(exercise.check)

    shell.register_magic_function(check, "line", "check")
