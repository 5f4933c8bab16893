"""Checks inside nbgrader, which gives a check cell its points unless the cell raises.

nbgrader runs the practice inputs, with the rights of whoever grades: it suits a class that one trusts. `course grade`
draws fresh inputs and has a sandbox.
"""

import os
import sys

from course import variables
from course.checks import bundle
from course.files import Course
from course.learner import practice

EXECUTION = "NBGRADER_EXECUTION"  # nbgrader sets it to "autograde" or "validate"


def is_running() -> bool:
    """Whether nbgrader runs this notebook, to grade or to validate it."""
    return EXECUTION in os.environ


def prepare(course: Course) -> None:
    """Make `import mytorch` the reference's, not that of whoever grades.

    Without a course the kernel ends: nbgrader would give a check that raises 0 points, and nobody would know why.
    """
    if not course.pristine.is_dir():
        message = (
            f"\nNothing was graded: the course is not in {course.root}; set MINITORCH_COURSE_ROOT to its folder.\n"
        )
        terminal = getattr(
            sys.stderr, "_original_stdstream_copy", None
        )  # what is said to ipykernel's own would be lost
        os.write(terminal or 2, message.encode())
        os._exit(1)
    os.environ.setdefault(variables.MYTORCH, str(course.reference))
    sys.path.append(str(course.solutions))


def require(shown: bundle.Bundle, check: str, course: Course) -> None:
    """Raise unless the check cell with this text shows the right values.

    Raises:
        AssertionError: they are wrong, or the course has no such cell; the message is for the learner.
    """
    exercise = next((each for each in practice.exercises(course) if each.check.strip() == check.strip()), None)
    if exercise is None:
        raise AssertionError("This check cell was changed: it is none of the course's.")
    if wrong := bundle.difference(exercise.expected, shown):
        raise AssertionError(f"Not yet.\n{wrong}")
