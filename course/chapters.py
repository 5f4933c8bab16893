"""The keys of chapters: 02, and 02b for a second sitting on the same subject. They are ordered 02, 02b, 03."""

import re
from typing import NamedTuple

PATTERN = r"\d\d[a-z]?"
"""A key as it is written."""


class Key(NamedTuple):
    """A chapter's number, and the letter of its sitting; empty for the first."""

    number: int
    sitting: str = ""

    def __str__(self) -> str:
        return f"{self.number:02d}{self.sitting}"

    @property
    def literal(self) -> str:
        """The key as a notebook's cell says it: `6`, or `"20b"`."""
        return f'"{self}"' if self.sitting else str(self.number)


def key(chapter: "int | str | Key") -> Key:
    """The key of a chapter, from its number, its key, or the name of its folder: 6, "06", "20b", "20b_export".

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(chapter, Key):
        return chapter
    found = re.match(r"(\d\d?)([a-z]?)(?:_|$)", str(chapter))
    if found is None:
        raise ValueError(f"{chapter!r} is no chapter: chapters are called 06, 20b or 20b_export")
    return Key(int(found[1]), found[2])
