"""The files of a class: which of them are submissions, and what is in one."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from course.chapters import PATTERN
from course.files import Course
from course.grading.student import called
from course.grading.submission import RejectedError
from course.learner import names

MAX_BYTES = 20 << 20
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".7z", ".rar")
_EXPORTED = re.compile(  # of a chapter's notebook, by Jupyter or by hand
    rf"{PATTERN}_.*\.(?:html?|pdf|py|md|docx?|odt|rtf|pages)", re.IGNORECASE
)

_NO_NOTEBOOK = (".py", ".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages")
_OF_TOOLS = ("conftest.py", "setup.py", "__init__.py")  # whose names no student has

_HAND_IN = "hand in the file that ends with .ipynb"


def notebooks(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and the notebooks below the folders, hidden folders aside.

    What cannot be searched (a link, a folder without permission) is in the list too, and so is what somebody may have
    handed in instead of a notebook: `content` says what is wrong.
    """
    found: list[Path] = []
    for path in paths:
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        found += sorted({*_below(path), *_overlooked(path)}) if is_folder else [path]
    return found


def _overlooked(folder: Path) -> Iterator[Path]:
    """Files of another kind in the folder of a class, and folders in it that hold only such: somebody's, all the same.

    A folder with chapters in it is one learner's, and what lies beside them is no answer. One that holds no notebook
    itself but folders with some is a group of the class.
    """
    try:
        entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError:
        return
    found = [entry.name for entry in entries if _is_named_notebook(entry.name) or entry.is_dir()]
    if any(re.match(rf"{PATTERN}_.*\.ipynb", name, re.IGNORECASE) for name in found):
        return
    taken = {*map(called, found)}
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if any(_below(path)):
                yield from _overlooked(path) if _is_group(path) else ()
            elif any(each.suffix.lower() in _NO_NOTEBOOK for each in path.rglob("*")):
                yield path
        elif path.suffix.lower() in _NO_NOTEBOOK and called(entry.name) not in taken and entry.name not in _OF_TOOLS:
            yield path


def _is_group(folder: Path) -> bool:
    """Whether it holds no notebook, but several folders that do and that aren't called like chapters."""
    inside = [path.relative_to(folder).parts for path in _below(folder)]
    return len({parts[:1] for parts in inside}) > 1 and all(
        len(parts) > 1 and not re.match(rf"{PATTERN}_", parts[0]) for parts in inside
    )


def _below(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            entries = [entry for entry in os.scandir(place) if not entry.name.startswith(".")]
        except OSError:
            yield place
            continue
        folders = {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
        found = {entry.name for entry in entries if _is_named_notebook(entry.name)} - folders
        for entry in entries:
            path = Path(entry.path)
            if entry.name in folders:
                waiting.append(path)
            elif (
                entry.name in found
                or (entry.is_symlink() and os.path.isdir(path))
                or (_is_archive(entry.name) and called(entry.name) not in {*folders, *map(called, found)})
                or (_EXPORTED.fullmatch(entry.name) and not found)
            ):
                yield path


def _is_named_notebook(name: str) -> bool:
    """Whether a file is called like a notebook, perhaps with another ending behind: browsers add .txt and .json."""
    return re.search(r"\.ipynb(?:\.\w+)?$", name, re.IGNORECASE) is not None and not _is_archive(name)


def _is_archive(name: str) -> bool:
    return name.lower().endswith(_ARCHIVES)


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


def digest(path: Path) -> str:
    """The SHA-256 of a submitted file, which tells whether it has changed since."""
    return hashlib.sha256(content(path)).hexdigest()


def submitted_at(path: Path) -> str:
    """When a file was last written, in ISO 8601 and UTC; empty if there is none, or its time is no date."""
    try:
        return datetime.fromtimestamp(int(path.lstat().st_mtime), UTC).isoformat().replace("+00:00", "Z")
    except (OSError, OverflowError, ValueError):
        return ""


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
        try:
            os.scandir(path).close()
        except OSError as error:
            raise RejectedError("a folder that cannot be read") from error
        raise RejectedError(f"a folder without a notebook: {_HAND_IN}")
    if not stat.S_ISREG(about.st_mode):
        raise RejectedError("not a file: a pipe, a socket or a device")
    if _is_archive(path.name):
        raise RejectedError("an archive: unpack it, and grade the notebook in it")
    if _EXPORTED.fullmatch(path.name):
        raise RejectedError(f"not a notebook, but what a program made of one: {_HAND_IN}")
    if path.suffix.lower() in _NO_NOTEBOOK:
        raise RejectedError(f"not a notebook: {_HAND_IN}")
    if about.st_size > MAX_BYTES:
        raise RejectedError(f"{about.st_size >> 20} MiB is too large: a notebook has at most {MAX_BYTES >> 20} MiB")
    with path.open("rb") as file:
        return file.read(MAX_BYTES)
