"""Text from learners and from file systems, so that it can be written and printed anywhere and shows what it holds."""

import re
from pathlib import Path

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\].*?(?:\x07|\x1b\\)")
"""Escape sequences of a terminal: colours, links, moves."""
MAX_MESSAGE = 2000
"""Characters of a message from a learner's code."""


def printable(text: str, kept: str = "\n\t") -> str:
    """`text` with control, bidirectional and other invisible characters, and lone surrogates, as escapes."""
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def clean(text: str, limit: int = MAX_MESSAGE) -> str:
    """Text without ANSI's colours, control and bidirectional characters made visible, and cut at `limit` characters."""
    shown = printable(ANSI.sub("", text))
    cut = len(shown) - limit
    return f"{shown[:limit]}… ({cut} more characters)" if cut > 0 else shown


def printable_path(path: Path) -> str:
    """A path as text, a different one for each path; a byte of the name that is not UTF-8 is `\\udc80` to `\\udcff`."""
    return printable(path.as_posix().replace("\\", "\\\\"), kept="")
