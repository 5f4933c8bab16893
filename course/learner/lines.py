"""Which line of an answer raised: the deepest one, whatever the library did below it."""

import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType, TracebackType

_LONGEST = 80


def raised_in(error: BaseException, answer: str) -> str:
    """The line of a cell in which an exception arose, such as ` (line 3 of your answer: `return x / 0`)`.

    Args:
        error: what was raised.
        answer: the cell's text. A part of mytorch runs inside a file of the package, where its lines are the cell's.

    Returns:
        A clause for the end of a message; empty if no line of the answer was running.
    """
    found = [line for code, text in _running(error) if (line := _line_of(code, text, answer))]
    if not found:
        return ""
    text = answer.splitlines()[found[-1] - 1].strip()
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f" (line {found[-1]} of your answer: `{shown}`)"


def without_reference(traceback: TracebackType | None, answer: str) -> TracebackType | None:
    """A traceback without the frames of mytorch that aren't the answer's, whose lines would show other solutions."""
    kept = [
        (frame, line, last)
        for frame, line, last in _frames(traceback)
        if not frame.f_code.co_filename.startswith("<mytorch>")
        or _line_of(frame.f_code, linecache.getline(frame.f_code.co_filename, line), answer)
    ]
    chain: TracebackType | None = None
    for frame, line, last in reversed(kept):
        chain = TracebackType(chain, frame, last, line)
    return chain


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next


def _running(error: BaseException) -> Iterator[tuple[CodeType, str]]:
    """The functions that an exception left, outermost first, each with the line that was running."""
    for frame, line in walk_tb(error.__traceback__):
        yield frame.f_code, linecache.getline(frame.f_code.co_filename, line)


def _line_of(code: CodeType, text: str, answer: str) -> int:
    """The number of a line in the cell, where its function or class begins above it; 0 if it isn't the cell's."""
    if Path(code.co_filename).is_file():  # of the library; a cell and a part of mytorch are on no disk
        return 0
    name, lines = code.co_name, answer.splitlines()
    heads = (number for number, line in enumerate(lines, 1) if re.search(rf"\bdef\s+{re.escape(name)}\b", line))
    start = 1 if name.startswith("<") else next(heads, 0)
    same = [number for number, line in enumerate(lines, 1) if text.strip() and line.strip() == text.strip()]
    return next((number for number in same if start and number >= start), 0)
