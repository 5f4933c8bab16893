"""Where the files of a course are, and writing them whole or not at all."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

CODE = Path(__file__).resolve().parent.parent  # the folder that holds the packages `course` and `minitorch`
DATA = CODE / "course" / "data"  # in a wheel: the files of `shipped`
FOLDERS = ("docs", "exercises/.pristine", "notebooks", "solutions", "tests")
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
        return next((cls(folder) for folder in (start, *start.parents) if cls(folder).pristine.is_dir()), cls(CODE))

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


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, so that a reader sees the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(name, 0o644)  # mkstemp gives 0600
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
