"""When a file was handed in, and whether it is of the chapter that was asked for."""

import os
from dataclasses import replace

from course.files import Course
from course.grading import find
from course.grading.intake import Reader, of_assignment
from course.grading.report import Result


def test_the_time_of_a_file_is_kept(own_course: Course) -> None:
    path = own_course.exercises / "01_fixture.ipynb"
    os.utime(path, (0, 1_764_547_200))  # 2025-12-01
    with Reader({"01_fixture": own_course.solutions / path.name}, apart=False) as reader:
        ((result, _),) = reader.read(path)
    assert result.submitted_at == "2025-12-01T00:00:00Z"
    assert find.submitted_at(own_course.root / "missing") == ""


def test_of_another_chapter_than_the_assignment(own_course: Course) -> None:
    path = own_course.exercises / "01_fixture.ipynb"
    with Reader({"01_fixture": own_course.solutions / path.name}, apart=False) as reader:
        read = reader.read(path)
    assert of_assignment(read, "01_fixture") == read
    moved = (Result("x.ipynb#02_other", "02_other"), read[0][1])
    assert of_assignment([*read, moved], "02_other") == [moved]
    ((result, submission),) = of_assignment(read, "02_other")
    assert (result.status, result.chapter, submission) == ("rejected", "02_other", None)
    assert result.reason == "a notebook of 01_fixture, and the assignment is 02_other"


def test_a_file_that_cannot_be_read_is_of_the_assignment() -> None:
    broken = Result("class/dora.ipynb", reason="the file is empty")
    assert of_assignment([(broken, None)], "02_other") == [(replace(broken, chapter="02_other"), None)]
