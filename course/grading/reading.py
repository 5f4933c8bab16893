"""What runs in the reader's sandbox: from the bytes of a learner's file to what counts of it."""

import functools
import json
import math
from collections.abc import Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from course import renamed
from course.grading.merge import Outline, chapter_of, solutions_of
from course.grading.serve import serve
from course.grading.submission import RejectedError, Submission

LIMITS = {"AS": 2 << 30, "CPU": 20, "CORE": 0, "FSIZE": 0}
"""Of the process that reads one file, by the names of `resource`."""
_MOST_REASON = 200  # characters


def read(outlines: Mapping[str, Outline], stem: str, content: bytes) -> list[Submission]:
    """Read a file: one submission, and one more for each chapter to which exercises that it answers have moved.

    Args:
        outlines: the chapters that there are.
        stem: the file's name, without its ending.
        content: what is in it.

    Raises:
        RejectedError: it cannot be graded.
    """
    try:
        notebook = _parsed(content)
        chapter = chapter_of(notebook, stem, outlines)
        made = [solutions_of(notebook, outlines[chapter])]
        moved = {name for name, before in renamed.MOVED.items() if before == chapter}
        for other in outlines if moved else ():
            if other != chapter and moved.intersection(outlines[other].stubs):
                found = solutions_of(notebook, outlines[other])
                made += [found] if moved.intersection(found.answered) else []
    except RejectedError:
        raise
    except Exception as error:  # it may hold anything
        reason = next(iter(str(error).splitlines()), "")
        raise RejectedError(f"cannot be read: {type(error).__name__}: {reason[:_MOST_REASON]}") from error
    return made


def _parsed(content: bytes) -> NotebookNode:
    if not content.strip():
        raise RejectedError("the file is empty")
    reads: Any = nbformat.reads
    try:
        text = content.decode("utf-8-sig")
        json.loads(text, parse_constant=_finite, parse_float=_finite)
        notebook: NotebookNode = reads(text, as_version=4)
        nbformat.validate(notebook)
        json.dumps(notebook, ensure_ascii=False).encode()  # a lone surrogate could not be written again
    except Exception as error:  # nbformat raises errors of many kinds on files that are not notebooks
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise RejectedError(f"not a valid notebook: {reason[:_MOST_REASON]}") from error
    return notebook


def _finite(number: str) -> float:
    if not math.isfinite(float(number)):
        raise ValueError(f"{number[:20]} is not a number that JSON has room for")
    return float(number)


def answer(outlines: Mapping[str, Outline], stem: str, content: bytes) -> dict[str, Any]:
    """Read a file, in a fork of the reader's process."""
    try:
        return {"submissions": [vars(each) for each in read(outlines, stem, content)]}
    except RejectedError as error:
        return {"rejected": str(error)}


def _prepare(first: dict[str, Any]) -> Any:
    return functools.partial(answer, {chapter: Outline(**about) for chapter, about in first.items()})


if __name__ == "__main__":
    serve(_prepare, LIMITS)
