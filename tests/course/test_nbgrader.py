"""The exercises in nbgrader: released from the solutions with its own commands, handed in, and graded by it."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course import nbgrader as in_nbgrader
from course import variables
from course.check import PRACTICE_SEED
from course.checks.bundle import bundle
from course.files import Course
from course.grading.nbgrader_source import write_source
from course.learner import package

SCORES = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    scores = {
        student.id: {grade.name: grade.score for notebook in book.find_submission(sys.argv[1], student.id).notebooks
                     for grade in notebook.grades}
        for student in book.students
    }
print(json.dumps(scores))
"""
WRONG = {
    "01_fixture": {
        "predict_strides": "prediction = (12, 3, 1)",
        "running_mean": "def running_mean(values):\n    return np.cumsum(values) / np.arange(1, len(values) + 1)",
    },
    "06_core": {
        "core_strides": "def strides(size):\n    return tuple(1 for _ in size)",
        "core_derivative": "from mytorch.derivatives import derivative\n"
        'derivative("mul", x=lambda g, y: y * g, y=lambda g, x: x * g)',
    },
}


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def filled(notebook: Any, solutions: dict[str, str]) -> Any:
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = solutions.get(name, cell.source)
    return notebook


@pytest.mark.turns(8)
@pytest.mark.needs("nbgrader")
@pytest.mark.parametrize(("which", "chapter"), [("course", "01_fixture"), ("core_course", "06_core")])
def test_nbgrader_releases_and_grades(
    which: str, chapter: str, request: pytest.FixtureRequest, nbgrader: Callable[..., Any], tmp_path: Path
) -> None:
    course: Course = request.getfixturevalue(which)
    run = nbgrader(course)
    folder = Path(chapter, f"{chapter}.ipynb")
    assert write_source(course, chapter[:2], tmp_path / "source") == tmp_path / "source" / folder
    run("nbgrader", "generate_assignment", chapter, "--create")
    released = read(tmp_path / "release" / folder)
    assert not [cell for cell in released.cells if "SOLUTION" in cell.source]
    handed_in = {
        "solved": read(course.solutions / f"{chapter}.ipynb"),
        "unsolved": read(tmp_path / "release" / folder),
        "wrong": filled(read(tmp_path / "release" / folder), WRONG[chapter]),
    }
    for student, notebook in handed_in.items():
        path = tmp_path / "submitted" / student / folder
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    autograde = ("nbgrader", "autograde", chapter, "--create")
    for wrong, message in (
        ({"PYTHONPATH": "", "JUPYTER_PATH": ""}, "does not have the course (No module named 'course')"),
        ({"MINITORCH_COURSE_ROOT": str(tmp_path)}, f"the course is not in {tmp_path}"),
    ):  # nbgrader's own kernel, and a course that is not there: no silent zeros
        said = run(*autograde, "--student", "solved", code=1, **wrong)
        assert "Nothing was graded" in said and message in said, said
        assert not list((tmp_path / "autograded").rglob("*.ipynb"))
    run(*autograde)
    scores = json.loads(run("python", "-c", SCORES, chapter))
    points = {
        cell.metadata["nbgrader"]["grade_id"]: cell.metadata["nbgrader"]["points"]
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    wrong, right = (f"{name}-check" for name in WRONG[chapter])
    assert scores["solved"] == points
    assert scores["unsolved"] == dict.fromkeys(points, 0)
    assert scores["wrong"] == dict.fromkeys(points, 0) | {right: points[right]}
    graded = read(tmp_path / "autograded" / "wrong" / folder)
    (error,) = (
        output
        for cell in graded.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == wrong
        for output in cell.outputs
        if output.output_type == "error"
    )
    assert (error.ename, "Not yet." in error.evalue) == ("AssertionError", True)
    assert not course.mine.exists() or not list(course.mine.glob("*.py"))  # nobody's answers are kept as one's own


SALT = str(PRACTICE_SEED)


def test_a_check_raises_unless_its_values_are_right(course: Course) -> None:
    exercise = "\n".join(
        cell.source
        for cell in read(course.pristine / "01_fixture.ipynb").cells
        if cell.metadata.get("minitorch", {}).get("role") == "check"
        and "predict" in cell.metadata["minitorch"]["exercise"]
    )
    in_nbgrader.require(bundle({"prediction": (12, 1, 4)}, 0, 0, True, SALT), exercise, course)
    with pytest.raises(AssertionError, match=r"Not yet\.\nThese are the strides of"):
        in_nbgrader.require(bundle({"prediction": (12, 4, 1)}, 0, 0, True, SALT), exercise, course)
    with pytest.raises(AssertionError, match="was changed"):
        in_nbgrader.require(bundle({"prediction": (12, 1, 4)}, 0, 0, True), "check.show({})", course)


def test_mytorch_is_the_references(core_course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variables.MYTORCH, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    in_nbgrader.prepare(core_course)
    assert (package.is_learners(), package.reference(core_course)) == (False, core_course.reference)
    assert (Path(sys.path[-1]) / "mytorch" / "__init__.py").exists()
    del os.environ[variables.MYTORCH]  # the notebook set it; monkeypatch would give it back in the end
