"""Exercises under `pytest --nbval`: each is one test, judged as `course check` judges it, with its points."""

import html
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
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

UNANSWERED = "not answered yet"
_MOST_SAID = 300  # characters of a message in a table
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
    """A test whose failure is headed with its notebook's name, and summed up in the first line of its message."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        shown = super().repr_failure(excinfo)
        if crash := getattr(shown, "reprcrash", None):  # of which CI services show every line
            crash.message = crash.message.partition("\n")[0]
        return shown

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
        message = UNANSWERED if item.status == "skipped" else clean(item.message)
        if is_open(item) and (self.config.option.allow_unsolved or self.config.getini("allow_unsolved")):
            pytest.skip(message)
        if item.status != "passed":
            pytest.fail(message, pytrace=False)
        self.parent.passed[self.exercise] = self.answers.solutions[self.exercise]


@dataclass
class Tally:
    """What is told of a notebook at the end. `wrong`: by exercise, the first line of what is said about its answer."""

    points: int = 0
    most: int = 0
    is_begun: bool = False
    wrong: dict[str, str] = field(default_factory=dict)


class Points:
    """The points of a session: they come with the reports, which xdist's other processes send here."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.notebooks: dict[str, Tally] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        earned: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and {"points", "max_points"} <= earned.keys():
            notebook, _, name = report.nodeid.partition("::")
            tally, said = self.notebooks.setdefault(notebook, Tally()), str(report.longrepr)
            tally.points += int(earned["points"])
            tally.most += int(earned["max_points"])
            if UNANSWERED not in said:
                tally.is_begun = True
                if report.failed:
                    tally.wrong[name.partition(" ")[0]] = said.partition("\n")[0]

    @property
    def points(self) -> int:
        """All that were earned."""
        return sum(tally.points for tally in self.notebooks.values())

    @property
    def most(self) -> int:
        """All that there are."""
        return sum(tally.most for tally in self.notebooks.values())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """The suite's own properties, before JUnit's file is written."""
        xml = self.config.stash.get(xml_key, None)
        if xml and self.notebooks:
            xml.add_global_property("points", str(self.points))
            xml.add_global_property("max_points", str(self.most))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if not self.notebooks:
            return
        begun = {name: tally for name, tally in sorted(self.notebooks.items()) if tally.is_begun}
        others = [tally.most for tally in self.notebooks.values() if not tally.is_begun]
        not_begun = f"{len(others)} chapter{'s' * (len(others) != 1)} not begun"
        terminalreporter.section("points")
        for notebook, tally in begun.items():
            terminalreporter.line(f"{notebook}: {tally.points} of {tally.most} points")
        if others:
            terminalreporter.line(f"{not_begun}: 0 of {sum(others)} points")
        terminalreporter.line(f"{self.points} of {self.most} points")
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if path and not hasattr(self.config, "workerinput"):  # xdist's processes have a part of the points
            rows: list[list[object]] = [
                ["notebook", "points", "of", "wrong"],
                ["---"] * 4,
                *([name, each.points, each.most, _cell(each.wrong)] for name, each in begun.items()),
                *([[not_begun, 0, sum(others), ""]] if others else []),
                ["**all**", f"**{self.points}**", f"**{self.most}**", ""],
            ]
            with Path(path).open("a", encoding="utf-8") as summary:
                summary.writelines(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def _cell(wrong: dict[str, str]) -> str:
    """The wrong answers in a cell of a table in Markdown, in which a message is no markup."""
    wrong = dict(sorted(wrong.items()))  # whichever process reported first
    lines = (re.sub(r"([\\`*_\[\]|~])", r"\\\1", html.escape(said[:_MOST_SAID])) for said in wrong.values())
    return "<br>".join(f"`{name}`: {said}" for name, said in zip(wrong, lines, strict=True))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Points(config))
