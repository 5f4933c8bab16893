"""Open design questions, from the text beside this file: what is asked, and the points of a good answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.interview.cards import Point

_SECTION = re.compile(
    r"^## (?P<title>[^\n]+)\nChapter (?P<chapter>\w+)\n\n(?P<said>.+?)\n\n(?P<points>- .+?)(?=\n+## |\Z)", re.M | re.S
)
_POINT = re.compile(r"^- \*(?P<label>[^*]+):\* (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class OpenDesign:
    """A question that has no single answer: its chapter, what the interviewer says, and the points to judge by."""

    title: str
    chapter: str
    said: str
    points: tuple[Point, ...]


@cache
def open_designs() -> tuple[OpenDesign, ...]:
    """All of them, in the order of the text."""
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").rstrip()
    return tuple(
        OpenDesign(
            found["title"],
            found["chapter"],
            " ".join(found["said"].split()),
            tuple(Point(each["label"], each["text"]) for each in _POINT.finditer(found["points"])),
        )
        for found in _SECTION.finditer(text)
    )
