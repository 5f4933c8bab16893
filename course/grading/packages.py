"""What the processes of a grade are given to import: folders with the packages, without the parts under test."""

import compileall
import functools
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbformat import NotebookNode

from course.files import CODE, DATA, Course
from course.grading import locate
from course.learner import withheld
from course.notebooks.notebook import OURS, tasks
from course.source import parts
from course.source.assemble import Files, as_of, read
from course.source.core_exercises import absent
from course.source.kinds import Core, kind_of

SHARED = "minitorch"
_LEFT_OUT = shutil.ignore_patterns("*.so.lock", ".*")
_NOT_ARRAYS = shutil.ignore_patterns("__init__.py", "__pycache__", "gpus.py")  # that one has a part of mytorch's in it


class Kits:
    """The folders for one chapter, and mytorch as the exercises see it.

    Exercises about parts of mytorch get `course`, the arrays of GPUs as all of minitorch, and mytorch without the parts
    in memory. An exercise that replaces a part of minitorch gets one of its own, without the part. All others share a
    third folder.
    """

    _making = threading.Lock()

    def __init__(self, folder: Path, course: Course, notebook: NotebookNode) -> None:
        """
        Args:
            folder: for this chapter's folders. What is the same for all chapters is made once, beside it.
            course: where mytorch is, and what it is about.
            notebook: the chapter's.
        """
        self.folder, self._course = folder, course
        self.kinds = {name: kind_of(about) for name, about in tasks(notebook).items()}
        self._chapter = notebook.metadata[OURS]["chapter"]
        self._cut: dict[tuple[str, ...], Files] = {}
        self._made: set[str] = set()

    def packages(self, exercise: str) -> Path:
        """The folder for an exercise, made when it is first needed; those with the same one can share a process."""
        name = self.kinds[exercise].folder(exercise, SHARED)
        with self._making:
            if name not in self._made:
                self._make(name, self.kinds[exercise].replaces if name == exercise else None)
                self._made.add(name)
        return self.folder / name

    def _make(self, name: str, target: str | None) -> None:
        """Make a folder; if it is one of an exercise that replaces a part, without that part."""
        replaced = [kind.replaces.partition(".")[0] for kind in self.kinds.values() if kind.replaces]
        roots = {package: _root(package, self._course) for package in sorted({"minitorch", *replaced})}
        place = self.folder / name
        if target is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            common = self.folder.parent / f"{name} of {' and '.join(roots)}"
            place.symlink_to(common)
            if common.exists():
                return
            place = common
        if name == Core.name:
            _copy_arrays(place, roots["minitorch"])
            _copy(place, {"course": CODE})
            return
        _copy(place, {"course": CODE, **roots})
        if target:
            path = list(dict.fromkeys(map(str, [*roots.values(), CODE])))
            _remove(self.folder / name, roots.values(), target, locate.locate_all([target], path)[target])

    @functools.cached_property
    def reference(self) -> Files:
        """All of mytorch, as the solutions have it; nothing where there are none."""
        reference = self._course.reference
        return withheld.completed(self._course, read(reference)) if reference.is_dir() else {}

    @functools.cached_property
    def _core(self) -> Files:
        return as_of(self.reference, self._chapter)

    def shared(self, exercise: str) -> Files:
        """The mytorch that the setup sees: for exercises about parts as of the chapter, without any of their parts."""
        if not self.kinds[exercise].parts:
            return self.reference
        return self._without([part for kind in self.kinds.values() for part in kind.parts])

    def own(self, exercise: str, only: Sequence[str] = ()) -> Files | None:
        """The mytorch that an exercise about parts sees: as of the chapter, without `only` these or all of them."""
        chosen = list(only or self.kinds[exercise].parts)
        return self._without(chosen) if chosen else None

    def _without(self, chosen: list[str]) -> Files:
        key = tuple(chosen)
        if key not in self._cut:  # every submission asks for the same
            files = dict(self._core)
            for part in chosen:
                files[parts.file_of(files, part)] = absent(files, part)
            self._cut[key] = files
        return self._cut[key]


def _root(package: str, course: Course) -> Path:
    """The folder that a package is in."""
    return course.root if (course.root / package).is_dir() else CODE


def _copy_arrays(target: Path, root: Path) -> None:
    """Copy the arrays that mytorch's GPUs hold, as a minitorch that has nothing else."""
    shutil.copytree(root / "minitorch" / "arrays", target / "minitorch" / "arrays", ignore=_NOT_ARRAYS)
    for folder in (target / "minitorch", target / "minitorch" / "arrays"):
        (folder / "__init__.py").touch()
    compileall.compile_dir(target, quiet=2)


def _copy(target: Path, roots: dict[str, Path]) -> None:
    """Copy packages with their bytecode, which is valid as long as the times are."""
    for package, root in roots.items():
        _compile(root / package)
        shutil.copytree(root / package, target / package, ignore=_left_out)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What is not copied: the answers that a wheel carries are among it."""
    return _LEFT_OUT(folder, names) | ({DATA.name} if Path(folder) == DATA.parent else set())


@functools.cache
def _compile(folder: Path) -> None:
    """Once for all copies, since to see that nothing is to be done takes longer than a copy."""
    compileall.compile_dir(folder, quiet=2)


def _remove(folder: Path, roots: Iterable[Path], target: str, places: locate.Places) -> None:
    """Take a part out of copied packages, and what was compiled of it."""
    lines: dict[Path, list[int]] = {}
    for file, line in places:
        root = next(root for root in roots if Path(file).resolve().is_relative_to(root.resolve()))
        lines.setdefault(folder / Path(file).resolve().relative_to(root.resolve()), []).append(line)
    for path, starts in lines.items():
        path.write_text(locate.without(path.read_text(encoding="utf-8"), starts, target), encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        compileall.compile_file(path, quiet=2)
