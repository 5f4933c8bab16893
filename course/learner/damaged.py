"""Files of `my/` that a crash, a full disk or an editor has spoiled: each is named in a sentence, and set aside.

What is set aside lies in `my/backups`. So no damaged file stops a command, a cell or `import mytorch`, none counts as
an answer, and nothing is lost.
"""

import functools
import json
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from course.files import Course, backup
from course.parsed import parsed
from course.source.cells import plain


def set_aside(course: Course, exercises: Collection[str]) -> None:
    """Move every damaged file away: the kept answers to these exercises, what `course write` kept, and the notes."""
    if not course.mine.is_dir():
        return
    for path, trouble_in in _files(course, exercises):
        if trouble := _trouble(path, trouble_in):
            target = backup(course, path)
            target.unlink()  # a folder does not take a file's place
            path.rename(target)
            print(f"my/{path.name} {trouble}: it is now {target.relative_to(course.root)}", file=sys.stderr)


def _files(course: Course, exercises: Collection[str]) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """What `my/` holds, each with what finds the fault in its text."""
    for path in course.mine.glob("*.py"):
        if path.stem in exercises:
            yield path, _code_trouble
    for path in course.mine.glob("written/*.py"):
        yield path, _code_trouble
    for path in (course.mine / "hints.json", course.mine / "resets.json"):
        if path.exists():
            yield path, _notes_trouble


def _trouble(path: Path, trouble_in: Callable[[str], str]) -> str:
    if path.is_dir():
        return "is a folder"
    about = path.stat()
    return _read(path, trouble_in, about.st_mtime_ns, about.st_size)


@functools.lru_cache(4096)
def _read(path: Path, trouble_in: Callable[[str], str], changed: int, size: int) -> str:
    """What is wrong with a file; read once, as long as its time and its size stay."""
    try:
        return trouble_in(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return "is no text in UTF-8"


def _code_trouble(text: str) -> str:
    if not text.strip():
        return "is empty"
    try:
        parsed(plain(text))
    except (SyntaxError, ValueError) as error:
        return f"is not valid Python ({error})"
    return ""


def _notes_trouble(text: str) -> str:
    try:
        notes = json.loads(text)
    except ValueError:
        return "is no JSON"
    sound = isinstance(notes, dict) and all(isinstance(value, int | float) for value in notes.values())
    return "" if sound else "is not what the course writes"
