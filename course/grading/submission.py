"""What counts of a submitted notebook, as plain data: whoever grades it never reads the notebook itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from course.checks import credit
from course.source.parts import short

MOST_CODE = 100_000
"""Characters of a cell that are read."""


class RejectedError(Exception):
    """A submission that cannot be graded; the message says why."""


@dataclass(frozen=True)
class Submission:
    """The answers of one notebook, and what was found out about them while it was read."""

    chapter: str
    solutions: dict[str, str]
    """The text of the solution cells, by exercise."""
    answered: list[str]
    """The exercises whose solution is more than empty or the stub."""
    notes: list[str] = field(default_factory=list)
    """What the learner and the teacher should know about the merge."""
    names: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """For each code cell: which cell it is, the exercise that it answers, and the names that it defines."""
    idle: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By exercise, and by `credit.key`, the status and the message of what needs no run."""

    def untried(self, exercise: str, parts: Sequence[str] = ()) -> tuple[str, str]:
        """Why an exercise, or these parts of it, need no run, as status and message; both empty if they need one."""
        return self.idle.get(credit.key(exercise, parts) if parts else exercise, ("", ""))

    def about_undefined(self, name: str, exercise: str, parts: Mapping[str, Sequence[str]]) -> str:
        """Which cell defines a name that an exercise lacks, other than its own solution, and what to do; or nothing.

        Args:
            name: what is not defined.
            exercise: where.
            parts: the parts of mytorch that each exercise is about, if it is about some.
        """
        found = next(((cell, owner) for cell, owner, names in self.names if name in names and owner != exercise), None)
        if found is None:
            return ""
        cell, owner = found
        part = next((part for part in parts.get(owner, []) if short(part) == name), "")
        if part and parts.get(exercise):  # what it does hold is the package's file, not the notebook
            return f" ({cell}, defines it, in another file: from {part.partition(':')[0]} import {name})"
        return f" ({cell}, defines it; the solution cell itself must hold all that it needs)"
