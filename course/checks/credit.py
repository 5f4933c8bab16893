"""What the parts of an exercise earn: each is right or not while the others are the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course.source import parts as _parts

if TYPE_CHECKING:
    from course.source.kinds import Share

UNTRIED = ("missing", "skipped", "error")
"""What a part that needs no run may be."""


@dataclass
class Part:
    """The result of one part, or of a few that are scored together. `status` is as of an exercise."""

    names: list[str]
    points: int
    max_points: int
    status: str
    message: str


def key(exercise: str, chosen: Sequence[str]) -> str:
    """What the run of an exercise is called in which only these of its parts are the learner's."""
    return f"{exercise} {' '.join(chosen)}"


def untried(text: str, stub: str, chosen: Sequence[str]) -> tuple[str, str]:
    """Why a cell's parts need no run, as status and message; empty if they need one."""
    if undefined := _parts.undefined(text, chosen):
        return "missing", undefined
    if all(_parts.same(text, stub, part) for part in chosen):
        return "skipped", "not solved yet"
    return "", ""


def earned(share: Share, status: str, message: str) -> Part:
    """What a part, or a few that are scored together, came to."""
    return Part(share.parts, share.points * (status == "passed"), share.points, status, message)


def told(parts: list[Part], message: str) -> str:
    """What is wrong with each part, and last which are right; if it is the same with all, the whole's message."""
    if len({(part.status, part.message) for part in parts}) == 1 and parts[0].status != "passed":
        return message
    wrong = [f"{name(part)}: {part.message}" for part in parts if part.status != "passed"]
    right = [name(part) for part in parts if part.status == "passed"]
    earned = f"{sum(part.points for part in parts)} of {sum(part.max_points for part in parts)} points"
    return "\n".join([*wrong, *([f"Right: {', '.join(right)} ({earned})."] if right else [])])


def name(part: Part) -> str:
    """What a part is called in a message."""
    return " and ".join(each.partition(":")[2] for each in part.names)
