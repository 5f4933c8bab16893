"""The files of a class: which of them are submissions, and reading one."""

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.files import Course
from course.learner import names

MAX_BYTES = 20 << 20


class RejectedError(Exception):
    """A submission that cannot be graded; the message says why."""


def notebooks(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and the notebooks below the folders, hidden folders aside.

    What cannot be searched (a link, a folder without permission) is in the list too: `read` says what is wrong with it.
    """
    found: list[Path] = []
    for path in paths:
        found += sorted(_below(path)) if os.path.isdir(path) and not os.path.islink(path) else [path]
    return found


def _below(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            entries = [entry for entry in os.scandir(place) if not entry.name.startswith(".")]
        except OSError:
            yield place
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif path.suffix == ".ipynb" or (entry.is_symlink() and os.path.isdir(path)):
                yield path


def of_chapters(course: Course, paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The files among these paths, and the notebooks in the folders among them that are called like a chapter.

    Returns:
        Them, and the other notebooks in the folders.
    """
    found: list[Path] = []
    others: list[Path] = []
    for path in paths:
        for each in notebooks([path]):
            (found if each == path or names.chapter(course, each.name) == each.stem else others).append(each)
    return found, others


def read(path: Path) -> NotebookNode:
    """Read a submitted notebook.

    Raises:
        RejectedError: no such file, a link or no regular file, too large, or not a valid notebook.
        OSError: the file cannot be read.
    """
    return parsed(content(path))


def parsed(text: bytes) -> NotebookNode:
    """The notebook that a file's content is.

    Raises:
        RejectedError: it is none that is valid.
    """
    reads: Any = nbformat.reads
    try:
        decoded = text.decode("utf-8-sig")
        json.loads(decoded, parse_constant=_finite, parse_float=_finite)
        notebook: NotebookNode = reads(decoded, as_version=4)
        nbformat.validate(notebook)
        json.dumps(notebook, ensure_ascii=False).encode()  # a lone surrogate could not be written again
    except Exception as error:  # nbformat raises errors of many kinds on files that are not notebooks
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise RejectedError(f"not a valid notebook: {reason[:200]}") from error
    return notebook


def digest(path: Path) -> str:
    """The SHA-256 of a submitted file, which tells whether it has changed since."""
    return hashlib.sha256(content(path)).hexdigest()


def content(path: Path) -> bytes:
    """What is in a submitted file.

    Raises:
        RejectedError: no such file, a link or no regular file, or too large.
        OSError: the file cannot be read.
    """
    try:
        about = path.lstat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RejectedError("no such file") from error
    if stat.S_ISLNK(about.st_mode):
        raise RejectedError("a link: submissions are files, and links are not followed")
    if stat.S_ISDIR(about.st_mode):
        raise RejectedError("a folder that cannot be read")
    if not stat.S_ISREG(about.st_mode):
        raise RejectedError("not a file: a pipe, a socket or a device")
    if about.st_size > MAX_BYTES:
        raise RejectedError(f"{about.st_size >> 20} MiB is too large: a notebook has at most {MAX_BYTES >> 20}")
    return path.read_bytes()


def _finite(number: str) -> float:
    if not math.isfinite(float(number)):
        raise ValueError(f"{number} is not a number that JSON has room for")
    return float(number)
