"""What is said about an answer at the whiteboard."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence

from course.interview.tasks import listed

_PROPERTY = re.compile(
    r"at \['(?P<what>[^']+)'\]: (?:at \[(?P<place>\d+)\]: )?expected boolean (?P<side>True|False), got boolean \w+"
)


_UNWRITTEN = re.compile(r"^NotImplementedError:\s*$", re.MULTILINE)


def laid_out(message: str, known: Collection[str]) -> str:
    """A judge's message in Markdown: what is said about known mistakes as paragraphs, and compared values as they are.

    Args:
        known: what is said about each known mistake.
    """

    def is_said(line: str) -> bool:
        return line in known or line.partition(": ")[2] in known or line.startswith("Right: ")

    parts = list[str]()
    message = _UNWRITTEN.sub("The stub's `raise NotImplementedError()` was reached: nothing is written there.", message)
    for said, group in itertools.groupby(_joined(_PROPERTY.sub(_property, message).splitlines()), is_said):
        lines = list(group)
        parts += lines if said or len(lines) == 1 else ["\n".join(["```text", *lines, "```"])]
    return "\n\n".join(parts)


def _property(found: re.Match[str]) -> str:
    """A property that an answer should have, in words, as its check calls it."""
    which = f" (its part {int(found['place']) + 1})" if found["place"] else ""
    return f"this {'should' if found['side'] == 'True' else 'should not'} hold: {found['what']}{which}"


def _joined(lines: Sequence[str]) -> list[str]:
    """Lines of which several say the same of other cases, each of these as one line."""
    cases: dict[str, list[str]] = {}
    for line in lines:
        case, _, said = line.partition(": this should")
        cases.setdefault(f": this should{said}" if said else line, []).append(case)
    return [f"{', '.join(each)}{said}" if said.startswith(": this") else said for said, each in cases.items()]


_COUNTED = re.compile(r"^.+: (?P<right>\d+) of (?P<all>\d+) are right$", re.MULTILINE)


def counted(message: str) -> tuple[str, float]:
    """What is said of a prediction whose values the check hides, and what it earns: the share that is right, squared.

    The check names all of its values in front of the number, which reads as if they were all wrong.
    """
    found = _COUNTED.search(message)
    if not found:
        return message, 0.0
    told = f"{found['right']} of {found['all']} answers are right."
    return _COUNTED.sub(told, message), (int(found["right"]) / int(found["all"])) ** 2


_FAILED = re.compile(r"^(?:(?P<gave>[^\n;]+); the check then|The check of your answer) failed with .+", re.DOTALL)


def formless(message: str) -> str:
    """A message about a prediction, in which no exception of the check is named: its form is what is wrong."""
    return _FAILED.sub(
        lambda found: f"{found['gave'] or 'Your prediction is a value'}, and what is asked for has another form.",
        message,
    )


_EARNED = re.compile(r"\n?That is worth \d+ of \d+ points\.| \(\d+ of \d+ points\)")


def unearned(message: str) -> str:
    """A judge's message without the whole points that a grade gives: an interview also counts parts of them."""
    return _EARNED.sub("", message)


def by_part(parts: Mapping[str, bool]) -> str:
    """Which functions of an answer are right and which are not."""
    right, wrong = (listed(f"`{name}`" for name, holds in parts.items() if holds is side) for side in (True, False))
    verb = "are" if sum(parts.values()) > 1 else "is"
    return f"{right} {verb} right, {wrong} not yet."


def unknown(name: str, names: Sequence[str], message: str = "") -> str:
    """What is said about an answer that lacks a name, or a method of tensors.

    Args:
        names: those that there are.
        message: what the check said about it.
    """
    again = "Fix that; the next time, the file counts as it is."
    if "'Tensor' object" in message:
        return f"A tensor has no `{name}` here. Use operators or a simpler method, such as `add_` or `mul_`. {again}"
    listed = ", ".join(f"`{each}`" for each in names)
    listed = f" Besides Python's own names and modules you have {listed}." if names else ""
    return f"Your answer needs `{name}`, which isn't there.{listed} {again}"
