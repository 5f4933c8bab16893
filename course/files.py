"""Where the files of a course are, and writing them whole or not at all."""

import contextlib
import glob
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

CODE = Path(__file__).resolve().parent.parent  # the folder that holds the packages `course` and `minitorch`
DATA = CODE / "course" / "data"  # in a wheel: the files of `shipped`
FOLDERS = ("docs", "exercises/.pristine", "notebooks", "solutions", "tests")
UNFINISHED = ".unfinished"
"""Stands in a folder while `course start` lays it out."""
_RANDOM = "[a-z0-9_]" * 8  # what mkstemp puts after a name
_ABANDONED = 3600  # seconds after which a part of a write is no other process's, which may still go on
_LEFT_OUT = ("docs/images", "tests/course", "tests/mytorch/make_from_pytorch.py")
_SUFFIXES = {".h", ".ipynb", ".json", ".md", ".pt", ".py", ".safetensors", ".txt", ".yml"}


@dataclass(frozen=True)
class Course:
    """The folders of one course, all of them below its root."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Course":
        """The course of `MINITORCH_COURSE_ROOT`, else the one around the folder `start` (the current), else this."""
        if named := os.environ.get("MINITORCH_COURSE_ROOT"):
            return cls(Path(named).resolve())
        start = (start or Path.cwd()).resolve()
        return next((cls(folder) for folder in (start, *start.parents) if cls(folder).is_here()), cls(CODE))

    def is_here(self) -> bool:
        """Whether the root holds a course, or a part of one that `course start` was stopped in."""
        return self.pristine.is_dir() or self.is_unfinished()

    def is_unfinished(self) -> bool:
        """Whether `course start` was stopped here."""
        return (self.root / UNFINISHED).exists()

    @property
    def chapters(self) -> Path:
        """The text sources, a folder a chapter."""
        return self.root / "chapters"

    @property
    def notebooks(self) -> Path:
        """The lessons, built."""
        return self.root / "notebooks"

    @property
    def exercises(self) -> Path:
        """What the learner fills in."""
        return self.root / "exercises"

    @property
    def pristine(self) -> Path:
        """The exercises as they were built, with the practice seed's outputs on the check cells."""
        return self.exercises / ".pristine"

    @property
    def solutions(self) -> Path:
        """The reference answers, built."""
        return self.root / "solutions"

    @property
    def reference(self) -> Path:
        """The package mytorch as the solutions have it: a copy of the one in `chapters`, made by the build."""
        return self.solutions / "mytorch"

    @property
    def mine(self) -> Path:
        """The learner's own solutions and progress."""
        return self.root / "my"


def shipped(root: Path) -> list[str]:
    """The files that `course start` copies from the course in `root`, by their paths in it.

    The code of `course` and `minitorch` is not among them: it is installed. Nor are exercises that somebody worked in.
    """
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in _SUFFIXES]
    names = sorted(path.relative_to(root).as_posix() for path in files if ".ipynb_checkpoints" not in path.parts)
    return [name for name in names if not name.startswith(_LEFT_OUT)]


def damaged(path: Path) -> OSError:
    """The error where a file of the course itself is not what was built."""
    return OSError(f"{path} is damaged: bring it back with `git restore` in a clone, `course update` elsewhere")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, so that a reader sees the old content or the new one, never a part.

    So it is after a power failure too. What a killed write left beside the file an hour ago or more is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{glob.escape(path.name)}.{_RANDOM}"):
        with contextlib.suppress(OSError):  # another process may remove it too
            if time.time() - left.stat().st_mtime > _ABANDONED:
                left.unlink()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp gives 0600
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    if os.name != "nt":  # there a folder cannot be opened
        _sync(path.parent)


def clean(root: Path) -> None:
    """Remove what killed writes left in a folder and those below it; nobody else writes there now."""
    for left in root.rglob(f".*.{_RANDOM}"):
        left.unlink()


def _sync(folder: Path) -> None:
    """Have the disk hold the names of a folder's files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def backup(course: Course, path: Path) -> Path:
    """A new, empty file in `my/backups` for a copy of a file, numbered one higher than the highest there is."""
    folder = course.mine / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    named = re.compile(rf"{re.escape(path.stem)}-(\d+){re.escape(path.suffix)}")
    numbers = [int(found[1]) for each in folder.iterdir() if (found := named.fullmatch(each.name))]
    number = max(numbers, default=0) + 1
    while True:
        target = folder / f"{path.stem}-{number}{path.suffix}"
        try:
            target.touch(exist_ok=False)
            return target
        except FileExistsError:  # another process was faster
            number += 1
