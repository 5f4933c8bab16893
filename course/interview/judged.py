"""Answers that are checked: exercises by the course's own judge, a mended program by the assertions of its faults."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.authoring.notebook import exercise_of, role, v4, write
from course.files import Course
from course.grading.grade import grade, practise
from course.grading.report import Item, Result
from course.interview import faults, tasks
from course.interview.fault import Program
from course.learner.practice import Exercise
from course.parsed import parsed

SECONDS = 120
"""After this a mended program is stopped."""


@dataclass(frozen=True)
class Verdict:
    """What an exercise's check says: points of how many, and what is wrong.

    `parts` are the functions of an answer that isn't right, where some of them are: whether each one is.
    """

    points: int
    of: int
    message: str
    parts: dict[str, bool] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The share of points, or that of the functions that are right."""
        return max(self.points / self.of, sum(self.parts.values()) / max(1, len(self.parts)))


def exercise(course: Course, asked: Exercise, answer: str, seed: int) -> Verdict:
    """Check an answer with inputs of a fresh seed; with the practice inputs, where the course has no solutions.

    If it isn't right, each of its functions is checked while the others are the solution's.
    """
    (found,) = _graded(course, asked, [answer], seed)
    if found.status == "passed":
        return Verdict(found.points, found.max_points, "")
    mixed = _mixed(tasks.stub_of(asked), tasks.solution_of(course, asked), answer)
    checked = _graded(course, asked, list(mixed.values()), seed) if mixed else ()
    parts = {name: each.status == "passed" for name, each in zip(mixed, checked, strict=True)}
    return Verdict(found.points, found.max_points, found.message, parts if len({*parts.values()}) == 2 else {})


def _mixed(stub: str, solution: str, answer: str) -> dict[str, str]:
    """For each function of a stub, the answer with the solution's text for all others; nothing if there are no others.

    What the solution defines beside the stub comes with it, unless the answer has a definition of that name.
    """
    try:
        wanted, given, own = _pieces(stub), _pieces(solution), _pieces(answer)
    except (SyntaxError, ValueError):  # an answer that can't be read has no right part
        return {}
    if len(wanted) < 2 or not wanted.keys() <= own.keys() & given.keys():
        return {}
    helpers = [text for name, text in given.items() if name not in own]
    return {
        name: "\n\n\n".join([answer, *helpers, *(given[other] for other in wanted if other != name)]) for name in wanted
    }


def _pieces(source: str) -> dict[str, str]:
    """The functions and classes of a text, by name."""
    nodes = [node for node in parsed(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: ast.unparse(node) for node in nodes}


def _graded(course: Course, asked: Exercise, answers: Sequence[str], seed: int) -> list[Item]:
    """What the judge says of answers to an exercise. It sees a course of this exercise alone, so it runs no other."""
    with tempfile.TemporaryDirectory(prefix="interview-") as folder:
        alone, name = Course(Path(folder) / "course"), f"{asked.chapter}.ipynb"
        paths = [Path(folder) / str(place) / name for place in range(len(answers))]
        has_solutions = (course.solutions / name).exists()
        _cut(course.pristine / name, alone.pristine / name, asked.name)
        if has_solutions:
            _cut(course.solutions / name, alone.solutions / name, asked.name)
        if course.reference.is_dir():
            alone.solutions.mkdir(exist_ok=True)
            alone.reference.symlink_to(course.reference.resolve())
        for path, answer in zip(paths, answers, strict=True):
            _cut(course.pristine / name, path, asked.name, answer)
        report = grade(paths, alone, seed=seed) if has_solutions else practise(paths, alone)
        return [_item(result, asked) for result in report.submissions]


def _cut(source: Path, target: Path, name: str, answer: str | None = None) -> None:
    """A copy of a chapter's notebook with one of its exercises alone, and with this answer."""
    notebook = v4.reads(source.read_text(encoding="utf-8"))
    notebook.cells = [cell for cell in notebook.cells if exercise_of(cell) in ("", name)]
    for cell in notebook.cells:
        if answer is not None and role(cell) == "solution":
            cell.source = answer
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(write(notebook), encoding="utf-8")


def _item(result: Result, asked: Exercise) -> Item:
    """What a report says of an exercise in one notebook.

    Raises:
        RuntimeError: the machine couldn't grade it.
    """
    found = next((each for each in result.items if each.grade_id == asked.name), None)
    if result.status != "graded" or found is None:
        raise RuntimeError(result.reason or f"{asked.name} could not be graded")
    return found


@dataclass(frozen=True)
class Mended:
    """What came of a debug round: a complaint for each fault, empty if it is gone, and tests by name.

    A good test passes on the learner's program and fails on one with a single fault, which is then guarded.
    """

    complaints: dict[str, str]
    guarded: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


def mended(path: Path, names: Sequence[str]) -> Mended:
    """Look for faults in the program at `path`, in a process of its own, since it may do anything."""
    with tempfile.TemporaryDirectory(prefix="interview-") as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "course.interview.judged", str(path), str(result), *names]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            told = (done.stderr.strip().splitlines() or ["the program ended the process"])[-1]
        except subprocess.TimeoutExpired:
            told = f"stopped after {SECONDS} seconds"
        if result.exists():
            return Mended(**json.loads(result.read_text(encoding="utf-8")))
        return Mended(dict.fromkeys(names, told))


def _look(path: Path, names: Sequence[str]) -> Mended:
    source, chosen = path.read_text(encoding="utf-8"), [faults.named(name) for name in names]
    try:
        program = faults.load(source)
    except Exception as error:  # the learner's program
        return Mended(dict.fromkeys(names, f"{type(error).__name__}: {error}"))
    complaints = {fault.name: faults.complaint(fault, program) for fault in chosen}
    tests = [name for name in program.__dict__ if name.startswith("test_")]
    passing = [name for name in tests if not _fails(program, name)]
    seen_by: dict[str, list[str]] = {}
    for fault in chosen:
        spoiled = faults.load(f"{faults.planted([fault])}\n\n{_tests(source)}") if passing else program
        seen_by[fault.name] = [name for name in passing if _fails(spoiled, name)]
    good = [name for name in passing if any(name in seeing for seeing in seen_by.values())]
    guarded = [fault for fault, seeing in seen_by.items() if seeing]
    return Mended(complaints, guarded, good, [name for name in tests if name not in good])


def _tests(source: str) -> str:
    """The imports and the tests of a program's text."""
    wanted: list[Any] = [
        node
        for node in parsed(source).body
        if (isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__")
        or (isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))
    ]
    return "\n\n".join(ast.unparse(node) for node in wanted)


def _fails(program: Program, name: str) -> bool:
    try:
        getattr(program, name)()
    except Exception:  # whatever a learner's test raises: as in pytest, it has failed
        return True
    return False


if __name__ == "__main__":
    found = _look(Path(sys.argv[1]), sys.argv[3:])
    Path(sys.argv[2]).write_text(json.dumps(found.__dict__), encoding="utf-8")
