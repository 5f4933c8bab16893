"""What is in `my/` survives: killed processes, damaged files, deletions."""

import itertools
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner, Result

from course import variables
from course.__main__ import main
from course.files import UNFINISHED, Course, backup, write_atomically
from course.learner import package, practice, progress, update
from course.source.assemble import read
from tests.course.killed import killed_at_each

CHAPTER = "01_fixture"
forking = pytest.mark.skipif(sys.platform == "win32", reason="no fork")


def command(course: Course, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--root", str(course.root), *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without what a killed write left beside one, and without times."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".py", ".ipynb", ".md", ".json")]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if path.name != package.MADE and len(path.suffix) != 9
    }


@pytest.fixture
def anew(tmp_path: Path) -> Callable[[Path], Callable[[], Path]]:
    """Makes what makes copies of a folder."""
    numbers = itertools.count()

    def copies_of(folder: Path) -> Callable[[], Path]:
        return lambda: Path(shutil.copytree(folder, tmp_path / "copies" / str(next(numbers)) / "course"))

    return copies_of


@pytest.fixture
def solved(own_core_course: Course, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A course whose core exercises are solved."""
    monkeypatch.delenv(variables.MYTORCH, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    notebook = nbformat.read(own_core_course.solutions / "06_core.ipynb", as_version=4)
    answers = {cell.metadata.get("minitorch", {}).get("exercise"): cell.source for cell in notebook.cells
               if cell.metadata.get("minitorch", {}).get("role") == "solution"}  # fmt: skip
    for exercise in practice.exercises(own_core_course):
        if exercise.kind.parts:
            practice.keep(own_core_course, exercise, answers[exercise.name])
    return own_core_course


@pytest.mark.turns(8)
@forking
def test_a_killed_write_of_the_package_is_completed_by_the_next_command(
    solved: Course, anew: Callable[[Path], Callable[[], Path]]
) -> None:
    copies = anew(solved.root)
    undisturbed = Course(copies())
    package.ensure(undisturbed)
    whole = contents(undisturbed.mine)
    assert any(name.startswith("mytorch/") for name in whole)
    for root in killed_at_each(copies, lambda root: package.ensure(Course(root))):
        package.ensure(Course(root))
        assert contents(root / "my") == whole


@pytest.mark.turns(8)
@forking
def test_a_killed_start_is_repeated_and_meanwhile_acts_on_no_other_course(
    own_course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{folder}/{CHAPTER}.ipynb" for folder in ("exercises", "exercises/.pristine", "notebooks")]
    files = {PurePosixPath(name): (own_course.root / name).read_bytes() for name in names}
    monkeypatch.setattr(update, "_installed", lambda: files)
    numbers = itertools.count()
    prepare = lambda: tmp_path / "started" / str(next(numbers))  # noqa: E731
    begun = 0
    for root in killed_at_each(prepare, update.start):
        if (root / UNFINISHED).exists():
            begun += 1
            assert Course.find(root) == Course(root)
            refused = command(Course(root), "reset", CHAPTER)
            assert (refused.exit_code, "is incomplete: run `course start" in refused.output) == (1, True)
        update.start(root)
        found = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
        assert sorted(found) == sorted(names)
    assert begun > len(names)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(ValueError, match="is not empty"):
        update.start(tmp_path / "full")


@pytest.mark.turns(8)
@forking
def test_a_killed_reset_is_repeated(solved: Course, anew: Callable[[Path], Callable[[], Path]]) -> None:
    package.ensure(solved)
    name = next(each.name for each in practice.exercises(solved) if each.kind.parts)
    copies, reset = anew(solved.root), lambda root: progress.reset(Course(root), name)
    reset(undisturbed := copies())
    whole = {
        path: text for path, text in contents(undisturbed).items() if "backups" not in path and "resets" not in path
    }
    for root in killed_at_each(copies, reset):
        command(Course(root), "reset", name)
        assert {path: text for path, text in contents(root).items() if path in whole} == whole
        assert not (root / "my" / f"{name}.py").exists()
        assert any((root / "my" / "backups").glob(f"{name}-*.py"))


@pytest.mark.parametrize("damage", ["deleted", "no text", "empty", "of a deleted answer"])
def test_the_learners_package_is_made_whole(solved: Course, damage: str) -> None:
    package.ensure(solved)
    own = package.folder(solved)
    exercise = next(each for each in practice.exercises(solved) if each.kind.parts)
    path = next(path for path in own.rglob("*.py") if f"# yours (exercise {exercise.name})" in path.read_text())
    whole = read(own)
    match damage:
        case "deleted":
            path.unlink()
        case "no text":
            path.write_bytes(b"\xff\xfe\x00")
        case "empty":
            path.write_text("")
        case _:
            practice.solution_path(solved, exercise.name).unlink()
    package.ensure(solved)
    if damage == "of a deleted answer":
        assert f"# yours (exercise {exercise.name})" not in path.read_text()
    else:
        assert read(own) == whole


DAMAGED = {
    "running_mean.py": [b"\xff\xfe\x00\x01", b"", b"def running_mean(values:\n", None],
    "hints.json": [b"{", b"", b"[]", b'{"x": "y"}', b"\xff", None],
}


@pytest.mark.parametrize(("name", "content"), [(name, each) for name, all_ in DAMAGED.items() for each in all_])
def test_a_damaged_file_is_named_and_set_aside(own_course: Course, name: str, content: bytes | None) -> None:
    path = own_course.mine / name
    if content is None:
        path.mkdir(parents=True)
    else:
        path.parent.mkdir()
        path.write_bytes(content)
    done = command(own_course, "progress")
    assert done.exit_code == 0
    assert done.stderr.count(f"my/{name} is ") == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "0/8 points" in done.stdout
    assert not path.exists()
    (kept,) = (own_course.mine / "backups").iterdir()
    assert content is None or kept.read_bytes() == content
    for again in (["progress"], ["next"], ["hint", "running_mean"], ["progress", "01"]):
        done = command(own_course, *again)
        assert (done.exit_code, done.stderr) == (0, "")


def test_a_file_of_the_learners_own_is_left_alone(own_course: Course) -> None:
    own_course.mine.mkdir()
    (own_course.mine / "scratch.py").write_bytes(b"\xff(")
    assert command(own_course, "progress").exit_code == 0
    assert [path.name for path in own_course.mine.iterdir()] == ["scratch.py"]


def test_a_damaged_notebook_as_built_is_named(own_course: Course) -> None:
    path = own_course.pristine / f"{CHAPTER}.ipynb"
    path.write_bytes(path.read_bytes()[:1000])
    done = command(own_course, "next")
    assert done.exit_code == 1
    assert f"{path} is damaged: bring it back" in done.output


def test_no_backup_overwrites_another(own_course: Course) -> None:
    for _ in range(2):
        assert command(own_course, "reset", "running_mean").exit_code == 0
    backups = own_course.mine / "backups"
    (backups / f"{CHAPTER}-1.ipynb").unlink()
    (backups / f"{CHAPTER}-2.ipynb").write_text("the newest")
    assert f"{CHAPTER}-3.ipynb" in command(own_course, "reset", "running_mean").output
    assert (backups / f"{CHAPTER}-2.ipynb").read_text() == "the newest"


def test_two_backups_at_the_same_time_have_two_names(own_course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    first = backup(own_course, Path("a.py"))
    monkeypatch.setattr(Path, "iterdir", lambda _: iter(()))  # it was not there yet
    assert (first.name, backup(own_course, Path("a.py")).name) == ("a-1.py", "a-2.py")


def test_a_write_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir() else "file")
        sync(descriptor)

    def replaced(*names: Any) -> None:
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_atomically(tmp_path / "a.txt", "a")
    assert done == (["file", "name", "folder"] if sys.platform == "linux" else ["file", "name", *done[2:]])


def test_what_killed_writes_left_is_removed(tmp_path: Path) -> None:
    old, new, other = (tmp_path / f".{name}" for name in ("a.txt.abcd_123", "a.txt.efgh4567", "b.txt.abcd_123"))
    for path in (old, new, other):
        path.touch()
    before = time.time() - 2 * 3600
    os.utime(old, (before, before))
    os.utime(other, (before, before))
    write_atomically(tmp_path / "a.txt", "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([new.name, other.name, "a.txt"])
