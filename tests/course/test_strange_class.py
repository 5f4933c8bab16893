"""Honest learners get every point beside strange files and attacks, and nobody's grade is lost."""

from pathlib import Path

import pytest

from course.files import CODE, Course
from course.grading.grade import grade
from course.grading.report import Report
from course.sandbox import launch
from tests.course.attacks import strange

CHAPTER = "03_views_and_layout"

pytestmark = [
    pytest.mark.turns(8, together=True),
    pytest.mark.needs("bubblewrap"),
    pytest.mark.skipif(bool(launch.trouble()), reason=launch.trouble()),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("class")
    strange.write(folder, Course(CODE), CHAPTER)
    return grade([folder], Course(CODE), jobs=2, limits=strange.LIMITS, explain=False)


@pytest.mark.parametrize("name", [*strange.HONEST, *strange.OTHERS])
def test_each_earns_what_its_answers_are_worth(report: Report, name: str) -> None:
    (result,) = [each for each in report.submissions if Path(each.path).stem == name]
    wanted = strange.OTHERS[name][1] if name in strange.OTHERS else strange.ALL
    assert strange.earned(result.status, result.score, result.max_score) == wanted, result.reason
    assert len(result.reason) < 1000
