"""Runs one program, line by line, with `torch` meaning PyTorch or minitorch, and compares what there is to be seen.

A program is Python source, one statement a line. A line that raises is no failure: both libraries have to raise alike.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import minitorch

Fact = Callable[["Library", Any], Any]


class Library:
    """The variables of a program under one library. Tensors are those called t0, t1, …"""

    def __init__(self, module: Any) -> None:
        self.variables: dict[str, Any] = {"torch": module}

    def run(self, line: str) -> str:
        """What running the line ends in: nothing, or the error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, self.variables)
        except Exception as error:
            return f"{type(error).__name__}: {_wording(error)}"
        return ""

    def tensors(self) -> dict[str, Any]:
        found = {name: value for name, value in self.variables.items() if re.fullmatch(r"t\d+", name)}
        return {name: value for name, value in found.items() if value is not None}

    def name_of(self, tensor: Any) -> str | None:
        return next((name for name, each in self.tensors().items() if each is tensor), None)


def _wording(error: Exception) -> str:
    """The message without addresses and without the advice that C++ appends on further lines."""
    return re.sub(r"0x[0-9a-f]+", "0x…", str(error)).split("\nException raised")[0].rstrip()


class Twins:
    """PyTorch and minitorch, running the same program side by side."""

    def __init__(self, torch: Any, facts: dict[str, Fact]) -> None:
        self.theirs, self.ours = Library(torch), Library(minitorch)
        self.facts = facts
        self.lines: list[str] = []

    def run(self, line: str) -> bool:
        """Runs a line in both and compares. Returns whether it ran without an error."""
        self.lines.append(line)
        expected, outcome = self.theirs.run(line), self.ours.run(line)
        self.same("error", outcome, expected)
        ours = self.ours.tensors()
        self.same("tensors", list(ours), list(self.theirs.tensors()))
        for name, tensor in self.theirs.tensors().items():
            for fact, look in self.facts.items():
                self.same(f"{fact} of {name}", look(self.ours, ours[name]), look(self.theirs, tensor))
        return not expected

    def same(self, what: str, ours: Any, theirs: Any) -> None:
        if ours != theirs:
            program = "\n".join(f"    {line}" for line in self.lines)
            raise DifferenceError(what, f"\n{program}\n{what}\n  minitorch: {ours}\n  PyTorch:   {theirs}")


class DifferenceError(AssertionError):
    """Where the two libraries part: `what` says in which fact."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(text)
        self.what = what
