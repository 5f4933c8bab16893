"""What an answer writes stays out of a brief grade: it can be the reference of another exercise."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.checks import mistakes
from course.files import Course
from course.grading.grade import grade
from course.grading.report import Report
from course.notebooks.notebook import exercise_of, role

SECRET = "the secret of the reference"
ANSWERS = {
    "core_strides": "def strides(size):\n    made, step = [], 1\n    for length in size:\n        made.append(step)\n"
    "        step *= length\n    return tuple(made)",  # it walks from the left, which is a known mistake
    "core_tensor": "from course.learner import package\n\n"
    "def rows(self):\n    raise ValueError(package.given['strides.py'])\n\n"
    "def describe(self, name='tensor'):\n    return package.given['strides.py']",
    "core_derivative": "derivative('mul'",
}


@pytest.fixture(scope="module", params=[False, True])
def graded(request: pytest.FixtureRequest, core_course: Course, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Whether a grade is brief, and its report."""
    notebook: Any = nbformat.read(core_course.pristine / "06_core.ipynb", as_version=4)
    for cell in notebook.cells:
        if role(cell) == "solution":
            cell.source = ANSWERS.get(exercise_of(cell), cell.source)
    path = tmp_path_factory.mktemp("class") / "a.ipynb"
    nbformat.write(notebook, path)
    return request.param, grade([Path(path)], core_course, brief=request.param)


def test_only_a_grade_that_is_not_brief_tells_what_an_answer_wrote(graded: tuple[bool, Report]) -> None:
    is_brief, report = graded
    assert (SECRET in report.to_json()) == (not is_brief)
    messages = {item.grade_id: item.message for item in report.submissions[0].items}
    assert messages["core_strides"].startswith("These are the strides of a column-major array.")
    assert "SyntaxError: '(' was never closed (line 1" in messages["core_derivative"]
    assert report.submissions[0].score == 0


def test_a_message_begins_with_the_known_mistakes() -> None:
    known = ["One", "One\nmore", "Two"]
    assert mistakes.told("One\nTwo\nx: expected 1, got 2", known) == (["One", "Two"], "x: expected 1, got 2")
    assert mistakes.told("Two of them", known) == ([], "Two of them")
    assert mistakes.told("Two", known) == (["Two"], "")
