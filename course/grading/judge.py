"""The judge: it reads what learners' processes say, in a sandbox of its own that holds nothing and reaches nothing."""

from collections.abc import Callable
from typing import Any

from course.checks.bundle import Bundle
from course.grading import compare
from course.grading.compare import Heard
from course.grading.served import Served
from course.sandbox import launch

Hear = Callable[[bytes, Bundle | None], Heard | None]
"""Reads a message, and compares what it shows with the expected values if there are any."""


class Comparer:
    """Reads messages and compares; close it to end its process."""

    def __init__(self) -> None:
        self._served = Served("compare", ["checks/bundle", "checks/mistakes"])

    def hear(self, line: bytes, expected: Bundle | None) -> Heard | None:
        """Read a message; None if it is none, or if it cannot be read.

        Raises:
            SandboxError: the process could not be started.
        """
        if not launch.can_fork():
            return compare.hear(line, expected)
        told = self._served.ask(expected, line)
        try:
            return told and _checked(**told)
        except TypeError:  # what reads the messages is no longer ours
            self.close()
            return None

    def close(self) -> None:
        """End the process."""
        self._served.close()


def _checked(**told: Any) -> Heard:
    """What the process answered, if it is what it should be.

    Raises:
        TypeError: it is not.
    """
    heard = Heard(**told)
    texts = (heard.nonce, heard.phase, heard.error, heard.wrong or "")
    if (
        not all(isinstance(text, str) for text in texts)
        or heard.called not in (True, False, None)
        or not (isinstance(heard.share, float) and 0 <= heard.share <= 1)
        or heard.shown
        or heard.used
    ):
        raise TypeError("the judge's answer is of another form")
    return heard
