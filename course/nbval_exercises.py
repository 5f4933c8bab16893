"""Exercises under `pytest --nbval`: each is one test, judged as `course check` judges it, with its points."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import xml_key
from _pytest.terminal import TerminalReporter

from course.check import PRACTICE_SEED
from course.checks.printable import clean
from course.files import Course
from course.grading.assigned import with_assignments
from course.grading.grade import Practice, is_open
from course.grading.report import Report, Result
from course.grading.submission import Submission as Answers
from course.learner.package import keep_passed
from course.reports.junit import properties
from course.sandbox.launch import Limits

_PRACTICES = pytest.StashKey[dict[Course, Practice]]()


def practice_of(config: pytest.Config, course: Course) -> Practice:
    """What judges all exercises of a course, until pytest ends."""
    practices = config.stash.setdefault(_PRACTICES, {})
    if course not in practices:
        limits = Limits()
        limits = replace(limits, cell_seconds=min(limits.cell_seconds, config.option.nbval_cell_timeout))
        practices[course] = Practice(course, limits)
        config.add_cleanup(practices[course].close)
    return practices[course]


class SubmissionFile(pytest.File):
    """A notebook in which a learner answers: of it the answers count, and nothing else."""

    def __init__(self, *, practice: Practice, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.practice = practice
        self.passed: dict[str, str] = {}

    def collect(self) -> Iterable[pytest.Item]:
        result, answers = self.practice.read(self.path)
        if answers is None:  # an error of collection would stop all other notebooks
            with_assignments(Report(PRACTICE_SEED, [result]), self.practice.assignments)
            yield Rejected.from_parent(self, name="rejected", result=result)
            return
        for name, points in self.practice.points(answers.chapter).items():
            title = f"{name} ({points} point{'s' * (points > 1)})"
            yield ExerciseItem.from_parent(self, name=title, exercise=name, result=result, answers=answers)

    def teardown(self) -> None:
        """What passed counts as it does in JupyterLab; but a CI service would throw it away."""
        if not os.environ.get("CI"):
            keep_passed(self.practice.course, self.path, self.passed)


class Judged(pytest.Item):
    """A test whose failure is headed with its notebook's name."""

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"


class Rejected(Judged):
    """A notebook that cannot be judged: the points of its chapter stay in the totals."""

    def __init__(self, *, result: Result, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.result = result

    def runtest(self) -> None:
        self.user_properties += [("points", "0"), ("max_points", str(self.result.max_score))]
        pytest.fail(self.result.reason, pytrace=False)


class ExerciseItem(Judged):
    """An exercise of a notebook."""

    parent: SubmissionFile

    def __init__(self, *, exercise: str, result: Result, answers: Answers, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.exercise, self.result, self.answers = exercise, result, answers

    def runtest(self) -> None:
        """Judge this exercise alone, so that xdist may run those of one notebook in several processes."""
        alone = replace(self.answers, answered=[name for name in self.answers.answered if name == self.exercise])
        result = self.parent.practice.judged(replace(self.result), alone)
        if result.status != "graded":
            pytest.fail(f"{result.status}: {result.reason}", pytrace=False)
        item = next(item for item in result.items if item.grade_id == self.exercise)
        self.user_properties += properties(item).items()
        message = "not answered yet" if item.status == "skipped" else clean(item.message)
        if is_open(item) and (self.config.option.allow_unsolved or self.config.getini("allow_unsolved")):
            pytest.skip(message)
        if item.status != "passed":
            pytest.fail(message, pytrace=False)
        self.parent.passed[self.exercise] = self.answers.solutions[self.exercise]


class Points:
    """The points of a session: they come with the reports, which xdist's other processes send here."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.points: Counter[str] = Counter()
        self.max_points: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        earned: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and {"points", "max_points"} <= earned.keys():
            notebook = report.nodeid.partition("::")[0]
            self.points[notebook] += int(earned["points"])
            self.max_points[notebook] += int(earned["max_points"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """The suite's own properties, before JUnit's file is written."""
        xml = self.config.stash.get(xml_key, None)
        if xml and self.max_points:
            xml.add_global_property("points", str(self.points.total()))
            xml.add_global_property("max_points", str(self.max_points.total()))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if not self.max_points:
            return
        terminalreporter.section("points")
        for notebook, most in sorted(self.max_points.items()):
            terminalreporter.line(f"{notebook}: {self.points[notebook]} of {most} points")
        terminalreporter.line(f"{self.points.total()} of {self.max_points.total()} points")
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if path and not hasattr(self.config, "workerinput"):  # xdist's processes have a part of the points
            rows = [f"| {name} | {self.points[name]} | {most} |" for name, most in sorted(self.max_points.items())]
            total = f"| **all** | **{self.points.total()}** | **{self.max_points.total()}** |"
            with Path(path).open("a", encoding="utf-8") as summary:
                summary.write("\n".join(["| notebook | points | of |", "|---|---|---|", *rows, total, ""]))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Points(config))
