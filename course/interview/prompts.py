"""What a round says and asks. Terminal and notebook show these, each in its own way, and send back the reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.image import Picture
from course.interview.history import Answer


@dataclass(frozen=True)
class Say:
    """Text in Markdown. There is no reply."""

    text: str
    times: str = ""
    """What is added where no clock is seen to run."""
    picture: Callable[[], Picture] | None = None
    """What shows the same, where a picture can be shown."""


@dataclass(frozen=True)
class Choose:
    """One of some options; the reply is its place."""

    text: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Rate(Choose):
    """How sure somebody is. The reply is in percent: what an option stands for, or any other percentage."""

    percents: tuple[int | None, ...] = ()
    """What the options stand for; None is one that says something else."""


@dataclass(frozen=True)
class Tick:
    """Points that may be ticked; the reply is a list of booleans."""

    text: str
    points: tuple[str, ...]


@dataclass(frozen=True)
class Write:
    """A line of text; the reply is a string."""

    text: str
    label: str
    again: bool = False
    """Whether this was asked before and the reply was of no use; the text then says why, and nothing else."""


@dataclass(frozen=True)
class Speak:
    """A question that is answered aloud; the reply is what somebody typed of the answer, which may be nothing."""

    text: str


@dataclass(frozen=True)
class Edit:
    """A file to be edited; the reply comes when that is done, and is how many of the hints were asked for."""

    text: str
    path: Path
    again: bool = False
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wait:
    """Work that takes a while; the reply is what it returns. It calls its argument to say what it does at present."""

    text: str
    does: Callable[[Callable[[str], None]], Any]


Prompt = Say | Choose | Rate | Tick | Write | Speak | Edit | Wait
Talk = Generator[Prompt, Any, list[Answer]]
"""A round's conversation about one item, and the answers that come of it."""


def code(text: str) -> str:
    """Markdown that shows a text as it was typed, asterisks and backticks included."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text.strip() else "nothing"
