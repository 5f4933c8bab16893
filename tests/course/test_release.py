"""The archives for students and for grading."""

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from click.testing import CliRunner

from course.__main__ import main
from course.authoring.release import release
from course.files import CODE, Course
from course.learner import practice, withheld
from course.source import parts
from course.source.assemble import read


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
            ".ci/check",
            ".github/workflows/check.yml",
            ".gitignore",
            "README.md",
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
    with zipfile.ZipFile(archives[0]) as archive:
        modes = {name.partition("/")[2]: archive.getinfo(name).external_attr >> 16 for name in texts}
    assert {name: mode for name, mode in modes.items() if mode != 0o100644} == {".ci/check": 0o100755}


def test_the_archive_holds_the_reference_of_mytorch(own_core_course: Course, tmp_path: Path) -> None:
    """Lessons and checks run on it, unless it is left out; its source, and the solved notebooks, stay behind."""
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=own_core_course.root, check=True)
    release(own_core_course, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        names = {name.removeprefix("minitorch-course/") for name in archive.namelist()}
    reference = {path.relative_to(own_core_course.root).as_posix() for path in own_core_course.reference.rglob("*.py")}
    assert {name for name in names if name.startswith(("solutions/", "chapters/"))} == reference


@pytest.mark.turns(8)
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
        "course/grading/grade.py",
        "minitorch/__init__.py",
    }
    assert all(needed < names for names in held.values())
    tests = {path.relative_to(CODE).as_posix() for path in (CODE / "tests" / "mytorch").glob("*.py")}
    assert tests | {"tests/conftest.py"} < held[False]  # `course mine` runs them
    assert ".github/workflows/grade.yml" in held[True] - held[False]
    assert {name for name in held[False] if name.startswith((".github/", ".ci/"))} == {
        ".github/workflows/check.yml",
        ".ci/check",
    }
    assert {name for name in held[False] if name.startswith("solutions/") and name.endswith(".ipynb")} == set()
    assert not any(name.startswith("docs/site/") for name in held[False])
    chapters = {Path(name).name for name in held[False] if name.startswith("exercises/.pristine/")}
    assert {f"solutions/{name}" for name in chapters} < held[True]


CHAPTERS = ("02_tensors_and_storage", "06_computation_graph")
ANSWERS = {
    "storage_predict_sharing": CHAPTERS[0],
    "storage_random": CHAPTERS[0],
    "storage_strides": CHAPTERS[0],
    "graph_run_backward": CHAPTERS[1],
}


def run(folder: Path, *command: str, code: int = 0) -> str:
    """Run a command in an unpacked archive, whose code is the one that counts; what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "150"}
    for name in ("MINITORCH_COURSE_ROOT", "MINITORCH_COURSE_MYTORCH"):
        environment.pop(name, None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def unpack(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a clone of a student's repository: this course's archive in git, with the notebooks of two chapters."""
    if not (CODE / ".git").exists():
        pytest.skip("not a git repository")

    def make(graded: tuple[str, ...] = ()) -> Path:
        folder = tmp_path_factory.mktemp("student")
        release(Course(CODE), folder / "a.zip", graded=graded)
        with zipfile.ZipFile(folder / "a.zip") as archive:
            archive.extractall(folder)
        made = folder / "minitorch-course"
        for path in (made / "exercises").glob("*.ipynb"):
            if path.stem not in CHAPTERS:
                path.unlink()
        git = ("git", "-c", "user.name=x", "-c", "user.email=x")
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "handed out"]):
            run(made, *git, *arguments)
        run(folder, "git", "clone", "-q", str(made), "clone")
        return folder / "clone"

    return make


def answer(clone: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = clone / "exercises" / f"{ANSWERS[name]}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == name:
                cell.source = text
        nbformat.write(notebook, path)


def solution(name: str) -> str:
    cells = nbformat.read(CODE / "solutions" / f"{ANSWERS[name]}.ipynb", as_version=4).cells
    return next(cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


@pytest.mark.turns(8)
@pytest.mark.skipif(os.name == "nt", reason="the steps are a shell's")
def test_the_ci_of_a_students_repository(unpack: Callable[..., Path]) -> None:
    """Its very steps, with this environment in the place of the one that they would install."""
    clone = unpack()
    steps = yaml.safe_load((clone / ".github/workflows/check.yml").read_text())["jobs"]["check"]["steps"]
    programs = clone / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "course").write_text(f'#!/bin/sh\nexec {sys.executable} -m course "$@"\n')
    (programs / "course").chmod(0o755)
    for name in ("pyvenv.cfg", "installed"):
        (clone / ".venv" / name).touch()

    def ci(code: int) -> str:
        scripts = [step["run"] for step in steps if "run" in step]
        assert scripts
        return " ".join(run(clone, "bash", "-e", "-c", script, code=code) for script in scripts)

    assert "│ 0 of 14 │ 0 of 36 │" in ci(0)
    answer(clone, graph_run_backward=solution("graph_run_backward"))
    assert "│ 1 of 14 │ 4 of 36 │" in ci(0)
    answer(clone, storage_predict_sharing="prediction = [1.0, 2.0]")
    said = ci(1)
    assert "storage_predict_sharing: failed" in said and "not the right value" in said and "│ 4 of 36 │" in said
    run(clone, "bash", ".ci/check", code=1)  # the strict one wants everything solved


@pytest.mark.turns(8)
def test_graded_parts_are_not_in_the_archive(unpack: Callable[..., Path]) -> None:
    """They raise and name their exercise, until they are answered; all that stands on them works then."""
    clone = unpack(("02",))
    use = "import sys; sys.path.insert(0, 'solutions'); import mytorch; mytorch.tensor([1.0, 2.0])"
    assert "NotImplementedError: contiguous_strides is yours to write: exercise storage_strides" in run(
        clone, sys.executable, "-c", use, code=1
    )
    check = (sys.executable, "-m", "course", "check", "exercises", "--allow-unsolved")
    answer(clone, graph_run_backward=solution("graph_run_backward"))
    said = run(clone, *check)  # it waits for another answer, and is not wrong
    assert "contiguous_strides is yours to write: exercise storage_strides" in said and "│ 0 of 36 │" in said
    answer(clone, **{name: solution(name) for name in ANSWERS})
    assert "│ 4 of 14 │ 12 of 36 │" in run(clone, *check)


@pytest.mark.turns(8)
def test_no_text_holds_what_is_left_out(tmp_path: Path) -> None:
    """With every chapter graded: neither code nor prose, nor a notebook's hints and known wrong answers.

    minitorch, a library of its own, is there; and what mytorch cannot be imported without.
    """
    if not (CODE / ".git").exists():
        pytest.skip("not a git repository")
    course = Course(CODE)
    chapters = sorted(
        {exercise.chapter.partition("_")[0] for exercise in practice.exercises(course) if exercise.kind.parts}
    )
    files, needed = release(course, tmp_path / "a.zip", graded=chapters)
    assert needed == ["mytorch.settings:parse_device"]
    texts = {
        name: "".join("\n".join(strings(json.loads(text)) if name.endswith(".ipynb") else [text.decode()]).split())
        for name, text in files.items()
        if name.endswith((".py", ".md", ".ipynb")) and not name.startswith("minitorch/")
    }
    reference, found = read(course.reference), dict[str, list[str]]()
    for part in withheld.chosen(course, chapters).keys() - set(needed):
        written = parts.text_of(reference, part, decorators=False)
        (node,) = ast.parse(written).body
        first = node.body[ast.get_docstring(node) is not None].lineno if isinstance(node, ast.FunctionDef) else 1
        code = "".join("".join(written.splitlines()[first - 1 :]).split())
        if len(code) > 60 and (names := [name for name, text in texts.items() if code in text]):
            found[part] = names
    assert found == {}


def strings(value: Any) -> Iterator[str]:
    """Every text in JSON; lines of one are joined."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        yield "".join(value)
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)
    else:
        yield str(value)
