"""A bank that is read once, a course with an empty `my`, a judge by text and a clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from course.files import CODE, Course
from course.interview import judged, notebook, terminal
from course.interview.bank import Bank
from tests.course.interview.holding import Time, of_course


@pytest.fixture(scope="session")
def bank() -> Bank:
    return Bank(Course(CODE))


@pytest.fixture
def course(tmp_path: Path, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> Course:
    """The course with an empty `my`. Its cards are read once for all tests, which takes a second."""
    for folder in ("notebooks", "exercises", "solutions"):
        (tmp_path / folder).symlink_to(CODE / folder)
    for module in (terminal, notebook):
        monkeypatch.setattr(module, "Bank", lambda course: of_course(bank, course))
    return Course(tmp_path)


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grades by text: all points for the course's solution, none for anything else. Grading takes ten seconds."""

    def check(judge: judged.Judge, answer: str, tell: judged.Tell = str) -> judged.Verdict:
        tell("comparing texts")
        is_right = answer.strip() == judge._solution.strip()
        points = judge._asked.points
        return judged.Verdict(points * is_right, points, "" if is_right else "Something is wrong.")

    monkeypatch.setattr(judged.Judge, "_prepare", lambda judge: None)
    monkeypatch.setattr(judged.Judge, "check", check)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(terminal, "clock", made.clock)
    return made
