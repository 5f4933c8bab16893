"""A package from its reference: as of a chapter, with the learner's parts in it, loaded from memory.

A line `# 06 · The computation graph` at the left margin opens the section of chapter 06 in a file. The file as of a
chapter ends before the first section of a later one, and it is absent if it has no section left.
"""

import builtins
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from course.chapters import PATTERN, Key, key
from course.source import parts

REFUSED = ("minitorch", "torch")
ARRAYS = ("minitorch.arrays.cupy", "minitorch.arrays.simulated_gpus")
"""The one thing that mytorch takes from minitorch: the arrays of GPUs."""
_SECTION = re.compile(rf"^# ({PATTERN}) · \S.*$", re.MULTILINE)

Files = dict[str, str]  # text by the path below the package's folder


def read(folder: Path) -> Files:
    """The files of a package."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))
    }


def assemble(
    reference: Path | Mapping[str, str],
    chapter: int | str | Key | None = None,
    mine: Mapping[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
    others: Iterable[str] = (),
) -> Files:
    """The files of a package in which some parts are the learner's.

    Args:
        reference: the package, as a folder or as files.
        chapter: leave out the sections of later chapters.
        mine: by part ("mytorch.autograd.engine:count_arrivals"), the cell that defines it.
        marks: by part, a comment line that comes before it.
        others: parts that stay the reference's, though the cells define them.

    Raises:
        PartError: a part is not in the package as of the chapter, or not in its cell.
    """
    files = read(reference) if isinstance(reference, Path) else dict(reference)
    files = as_of(files, chapter) if chapter is not None else files
    mine, marks = mine or {}, marks or {}
    for part, mark in marks.items():
        if part not in mine:
            name = parts.file_of(files, part)
            files[name] = parts.marked(files[name], part.partition(":")[2], mark)
    groups: dict[tuple[str, str], list[str]] = {}  # parts of one cell in one file: its helpers come along once
    for part, cell in mine.items():
        groups.setdefault((parts.file_of(files, part), cell), []).append(part)
    for (name, cell), chosen in groups.items():
        paths = [part.partition(":")[2] for part in chosen]
        held = [*others, *(part for part, text in mine.items() if text == cell and part not in chosen)]
        elsewhere = set(map(parts.short, held))
        swapped = parts.swap(files[name], cell, paths, marks.get(chosen[0], ""), elsewhere)
        files[name] = parts.with_siblings(swapped, held)
    return files


def as_of(files: Mapping[str, str], chapter: int | str | Key) -> Files:
    """The files without the sections of later chapters.

    Raises:
        PartError: a file has no section and is no `__init__.py`, or its sections are out of order.
    """
    kept: Files = {}
    for name, text in files.items():
        sections = list(_SECTION.finditer(text))
        keys = [key(section[1]) for section in sections]
        if keys != sorted(set(keys)) or not (keys or name.endswith("__init__.py")):
            raise parts.PartError(
                f"{name}: a file consists of sections in the order of their chapters, not {[*map(str, keys)]}"
            )
        if later := next((section for section in sections if key(section[1]) > key(chapter)), None):
            text = text[: later.start()].rstrip("\n") + "\n"
        if not keys or keys[0] <= key(chapter):
            kept[name] = text
    return {name: text for name, text in kept.items() if _SECTION.search(text) or _is_needed(name, kept)}


def section_of(text: str, path: str) -> str:
    """The chapter of the section in which a part of a file stands; empty above the first."""
    lines = text.split("\n")[: parts.find(text, path).start]
    return next((found[1] for line in reversed(lines) if (found := _SECTION.match(line))), "")


def load(files: Mapping[str, str], name: str = "mytorch", allowed: Sequence[str] = ()) -> ModuleType:
    """Import a package from memory, in the place of any of that name.

    Its modules cannot import minitorch or torch, but for `ARRAYS` and what is `allowed`. Tracebacks and `inspect` show
    its text.

    Raises:
        Exception: whatever the package raises; nothing of it is left in `sys.modules` then.
    """
    offer(files, name, allowed)
    try:
        return importlib.import_module(name)
    except BaseException:
        _forget(name)
        raise


def offer(files: Mapping[str, str], name: str = "mytorch", allowed: Sequence[str] = ()) -> None:
    """Let `import` find a package in memory, in the place of any of that name."""
    _forget(name)
    sys.meta_path.insert(0, _Memory(files, name, {*REFUSED} - {name, *allowed}))


def compiled(files: Mapping[str, str], name: str = "mytorch") -> None:
    """Compile a package's files for all packages of that name that this process, or a fork of it, loads from memory."""
    for file, text in files.items():
        _compiled(text, _place(name, file))


@contextmanager
def kept(name: str = "mytorch") -> Iterator[None]:
    """Whatever package of this name is imported inside, afterwards the one of before is there again."""
    modules = {module: sys.modules[module] for module in _modules(name)}
    finders = list(sys.meta_path)
    try:
        yield
    finally:
        _forget(name)
        sys.modules.update(modules)
        sys.meta_path[:] = finders


def _place(name: str, file: str) -> str:
    """What tracebacks call a file of a package that is on no disk."""
    return f"<{name}>/{file}"


@functools.cache
def _compiled(text: str, place: str) -> CodeType:
    """The code of a file; packages that differ in one part have most of their files in common."""
    return compile(text, place, "exec")


def _is_needed(name: str, files: Mapping[str, str]) -> bool:
    """Whether an `__init__.py` without a section stands above a file that has one, or is the whole package's."""
    folder = name.removesuffix("__init__.py")
    return not folder or any(other.startswith(folder) and _SECTION.search(text) for other, text in files.items())


def _forget(name: str) -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if not (isinstance(finder, _Memory) and finder.name == name)]
    for module in _modules(name):
        del sys.modules[module]


def _modules(name: str) -> list[str]:
    return [module for module in sys.modules if module == name or module.startswith(f"{name}.")]


class _Memory(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and runs the modules of one package."""

    def __init__(self, files: Mapping[str, str], name: str, refused: set[str]) -> None:
        self.files, self.name, self.refused = files, name, refused

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != self.name:
            return None
        inner = "/".join(fullname.split(".")[1:])
        for file in (f"{inner}/__init__.py".lstrip("/"), f"{inner}.py"):
            if file in self.files:
                is_package = file.endswith("__init__.py")
                place = _place(self.name, file)
                return importlib.util.spec_from_loader(fullname, self, origin=place, is_package=is_package)
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None and module.__spec__.origin is not None
        place = module.__spec__.origin
        text = self.files[place.removeprefix(_place(self.name, ""))]
        linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        module.__file__ = place
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
        exec(_compiled(text, place), vars(module))

    def _import(self, name: str, scope: Any = None, inner: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if level == 0 and name.partition(".")[0] in self.refused and not (fromlist and name in ARRAYS):
            raise ImportError("mytorch stands on NumPy alone")
        return builtins.__import__(name, scope, inner, fromlist, level)
