"""A fault of a debug round: what it is, and how it is planted into its program."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass

Program = types.ModuleType


@dataclass(frozen=True)
class Fault:
    """A fault of a program.

    `symptom` is what somebody sees who runs the program; it doesn't name the cause. `edits` plant the fault. `sees` is
    the assertion, whose name says what should hold; `says` names the cause, for afterwards. `chapter` teaches it.
    Beside the fault `hidden_by` it shows nothing. `program` is the file of the program, without its suffix.
    """

    name: str
    chapter: str
    symptom: str
    says: str
    edits: tuple[tuple[str, str], ...]
    sees: Callable[[Program], None]
    hidden_by: str = ""
    program: str = "training"

    def planted(self, source: str) -> str:
        """The program's text with this fault in it.

        Raises:
            ValueError: the text isn't there exactly once.
        """
        for old, new in self.edits:
            if source.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} is in the program {source.count(old)} times")
            source = source.replace(old, new)
        return source


def expect(holds: object, message: str) -> None:
    """Raise an AssertionError with this message unless something holds."""
    if not holds:
        raise AssertionError(message)
