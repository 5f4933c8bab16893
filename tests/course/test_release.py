"""The archives for students and for grading."""

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.files import CODE, Course
from course.release import release


def test_the_archive_holds_no_solution_and_is_the_same_each_time(own_course: Course, tmp_path: Path) -> None:
    command = ["--root", str(own_course.root), "release"]
    refused = CliRunner().invoke(main, [*command, str(tmp_path / "none.zip")])
    assert (refused.exit_code, "git knows no exercises" in refused.output) == (1, True)
    (own_course.root / ".gitignore").write_text("__pycache__/\n")
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=own_course.root, check=True)
    (own_course.root / "untracked.txt").write_text("not in git")
    (own_course.exercises / "01_fixture.ipynb").write_text("solved")
    archives = [tmp_path / "a.zip", tmp_path / "b.zip"]
    for path in archives:
        assert CliRunner().invoke(main, [*command, str(path)]).exit_code == 0
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with zipfile.ZipFile(archives[0]) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    assert set(texts) == {
        f"minitorch-course/{name}"
        for name in (
            ".gitignore",
            "exercises/.pristine/01_fixture.ipynb",
            "exercises/01_fixture.ipynb",
            "notebooks/01_fixture.ipynb",
            "toy/__init__.py",
            "toy/layout.py",
        )
    }
    folder = "minitorch-course/exercises/"
    assert texts[f"{folder}01_fixture.ipynb"] == texts[f"{folder}.pristine/01_fixture.ipynb"]
    assert not any(b"BEGIN SOLUTION" in text for text in texts.values())


def test_the_archive_holds_the_reference_of_mytorch(own_core_course: Course, tmp_path: Path) -> None:
    """Lessons and checks run on it; its source, and the solved notebooks, stay behind."""
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=own_core_course.root, check=True)
    release(own_core_course, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        names = {name.removeprefix("minitorch-course/") for name in archive.namelist()}
    reference = {path.relative_to(own_core_course.root).as_posix() for path in own_core_course.reference.rglob("*.py")}
    assert {name for name in names if name.startswith(("solutions/", "chapters/"))} == reference


def test_the_graders_archive_grades(own_core_course: Course, tmp_path: Path) -> None:
    """It holds the packages, the solutions and the exercises as built, and what was unpacked is a course."""
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=own_core_course.root, check=True)
    command = ["--root", str(own_core_course.root), "release", "--grader", str(tmp_path / "grader.zip")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(tmp_path / "grader.zip") as archive:
        archive.extractall(tmp_path)
    root = tmp_path / "minitorch-grader"
    assert {path.name for path in root.iterdir()} == {"exercises", "solutions"}
    report = tmp_path / "report.json"
    shutil.copy(root / "solutions" / "06_core.ipynb", tmp_path)
    command = ["--root", str(root), "grade", str(tmp_path / "06_core.ipynb"), "--json", str(report)]
    assert CliRunner().invoke(main, command).exit_code == 0
    (result,) = json.loads(report.read_text())["submissions"]
    assert result["score"] == result["max_score"] > 0


def test_what_the_archives_of_this_course_hold(tmp_path: Path) -> None:
    """The files that an installation is made of are in both; answers are in the grader's alone."""
    if not (CODE / ".git").exists():
        pytest.skip("not a git repository")
    held = {}
    for grader in (False, True):
        release(Course(CODE), tmp_path / "a.zip", grader)
        with zipfile.ZipFile(tmp_path / "a.zip") as archive:
            held[grader] = {name.partition("/")[2] for name in archive.namelist()}
    needed = {
        "pyproject.toml",
        "requirements.lock",
        "Makefile",
        "README.md",
        "course/grade.py",
        "minitorch/__init__.py",
    }
    assert all(needed < names for names in held.values())
    tests = {path.relative_to(CODE).as_posix() for path in (CODE / "tests" / "mytorch").glob("*.py")}
    assert tests | {"tests/conftest.py"} < held[False]  # `course mine` runs them
    assert ".github/workflows/grade.yml" in held[True] - held[False]
    assert {name for name in held[False] if name.startswith("solutions/") and name.endswith(".ipynb")} == set()
    chapters = {Path(name).name for name in held[False] if name.startswith("exercises/.pristine/")}
    assert {f"solutions/{name}" for name in chapters} < held[True]
