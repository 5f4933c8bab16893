"""A class of 21 goes the whole way: released, graded, reports made anew, through a student's CI and nbgrader."""

import csv
import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.files import Course
from course.grading import grade as grade_module
from course.sandbox.launch import Limits

CHAPTER = "01_fixture"
RIGHT = {"predict_strides": "prediction = (12, 1, 4)"}  # a point
WRONG = {"predict_strides": "prediction = (12, 4, 1)"}
SCORES = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({each.student.id: each.score for each in book.assignment_submissions("01_fixture")}))
"""

pytestmark = [
    pytest.mark.needs("nbgrader"),
    pytest.mark.skipif(os.name == "nt", reason="names of bytes, pipes and links are POSIX's"),
]


def invoke(course: Course, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["--root", str(course.root), *arguments])
    return done.exit_code, done.output


def hand_in(folder: Path, make: Callable[..., Any], solved: Path) -> dict[str, tuple[str, int]]:
    """Write the submissions; by student, the status and the points that each should get."""
    text = nbformat.writes(make(**RIGHT))
    cells = {
        "right": RIGHT,
        "wrong": WRONG,
        "unsolved": {},
        "endless": RIGHT | {"running_mean": "while True: pass"},
        "exits": RIGHT | {"running_mean": "import os\nos._exit(0)"},
        "kills": RIGHT | {"running_mean": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"},
        "raises": RIGHT | {"running_mean": "1 / 0"},
        "floods": RIGHT | {"running_mean": "print('x' * 10_000_000)"},
        "no python": RIGHT | {"running_mean": "def"},
        "=cmd|' '!A0": RIGHT,
        os.fsdecode(b"caf\xe9"): RIGHT,
        "\u202eright\x1b[2J": RIGHT,
    }
    expected = {name: ("graded", int("predict_strides" in answers)) for name, answers in cells.items()}
    for name, answers in cells.items():
        nbformat.write(make(**answers), folder / f"{name}.ipynb")
    expected["wrong"] = ("graded", 0)
    (folder / "ann").mkdir()
    (folder / "ann" / f"{CHAPTER}.ipynb").write_text(text)
    missing = make(**RIGHT)
    missing.cells = [
        cell for cell in missing.cells if cell.metadata.get("nbgrader", {}).get("grade_id") != "running_mean"
    ]
    nbformat.write(missing, folder / "deleted a cell.ipynb")
    (folder / "byte order mark.ipynb").write_text(text, encoding="utf-8-sig")
    expected |= dict.fromkeys(("ann", "deleted a cell", "byte order mark"), ("graded", 1))
    (folder / "broken.ipynb").write_text(text[:500])
    (folder / "empty.ipynb").touch()
    (folder / "nan.ipynb").write_text(text.replace('"nbformat":', '"x": NaN, "nbformat":', 1))
    (folder / "other course.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook()))
    (folder / "link.ipynb").symlink_to(solved)
    os.mkfifo(folder / "pipe.ipynb")
    names = ("broken", "empty", "nan", "other course", "link", "pipe")
    return expected | dict.fromkeys(names, ("rejected", 0))


def read_report(path: Path) -> dict[str, tuple[str, int]]:
    """By student, the status and the points."""
    submissions = json.loads(path.read_text())["submissions"]
    names = [
        Path(each["path"]).parent.name if "/ann/" in each["path"] else Path(each["path"]).stem for each in submissions
    ]
    return {name: (each["status"], each["score"]) for name, each in zip(names, submissions, strict=True)}


@pytest.mark.turns(8)
def test_no_submission_is_lost(
    own_course: Course,
    submission: Callable[..., Any],
    nbgrader: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grade_module, "Limits", lambda: Limits(cell_seconds=15))
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=own_course.root, check=True)
    archive, folder, empty = (tmp_path / name for name in ("course.zip", "class", "empty"))
    folder.mkdir()
    empty.mkdir()
    assert invoke(own_course, "release", str(archive))[0] == 0
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    student = Course(tmp_path / "minitorch-course")
    handed_out = student.exercises / f"{CHAPTER}.ipynb"
    assert handed_out.read_bytes() == (own_course.pristine / handed_out.name).read_bytes()

    expected = hand_in(folder, submission, own_course.solutions / f"{CHAPTER}.ipynb")
    assert len(expected) == 21
    printed = {os.fsdecode(b"caf\xe9"): "caf\\udce9", "\u202eright\x1b[2J": "\\u202eright\\x1b[2J"}
    expected = {printed.get(name, name): each for name, each in expected.items()}
    saved, table, xml, pages = (tmp_path / name for name in ("grades.json", "grades.csv", "grades.xml", "pages"))
    reports = ["--json", str(saved), "--csv", str(table), "--junit", str(xml), "--html", str(pages)]
    code, said = invoke(own_course, "grade", str(folder), "-j", "4", *reports)
    assert code == 1, said  # some are rejected
    assert read_report(saved) == expected

    made = (saved.read_bytes(), table.read_bytes(), xml.read_bytes(), sorted(page.name for page in pages.iterdir()))
    for path in (table, xml):
        path.unlink()
    assert invoke(own_course, "grade", str(empty), "--resume", *reports)[0] == 1
    again = (saved.read_bytes(), table.read_bytes(), xml.read_bytes(), sorted(page.name for page in pages.iterdir()))
    assert again == made
    rows = list(csv.DictReader(table.read_text(encoding="utf-8-sig").splitlines()))
    assert {row["student_id"].removeprefix("'") for row in rows} == set(expected)
    assert [row["score"] for row in rows if row["student_id"] == "'=cmd|' '!A0"] == ["1.0"]
    assert len(ElementTree.fromstring(xml.read_text())) == len(rows) == len(made[3]) - 1 == 21

    (folder / "link.ipynb").unlink()
    nbformat.write(submission(**RIGHT), folder / "link.ipynb")
    invoke(own_course, "grade", str(folder / "link.ipynb"), "--resume", *reports)
    assert read_report(saved) == expected | {"link": ("graded", 1)}

    for name in ("right", "wrong", "unsolved"):
        handed_out.write_bytes((folder / f"{name}.ipynb").read_bytes())
        code, said = invoke(student, "check", str(student.exercises), "--allow-unsolved")
        assert (code, f"{expected[name][1]} of 8" in said) == (int(name == "wrong"), True), said
    names = ["right", "wrong", "unsolved"]
    scores = in_nbgrader(own_course, folder, names, tmp_path, nbgrader(own_course))
    assert scores == {name: expected[name][1] for name in names}


def in_nbgrader(
    course: Course, folder: Path, names: list[str], place: Path, run: Callable[..., str]
) -> dict[str, float]:
    """The points that nbgrader gives."""
    assert invoke(course, "nbgrader", "01", "--to", str(place / "source"))[0] == 0
    run("nbgrader", "generate_assignment", CHAPTER, "--create")
    for name in names:
        path = place / "submitted" / name / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes((folder / f"{name}.ipynb").read_bytes())
    run("nbgrader", "autograde", CHAPTER, "--create")
    scores: dict[str, float] = json.loads(run("python", "-c", SCORES))
    return scores
