"""Answers that are checked: exercises by the course's own judge, a mended program by the assertions of its faults."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from course.check import PRACTICE_SEED
from course.checks import credit
from course.checks.bundle import Bundle
from course.files import Course
from course.grading.grade import grade_one
from course.grading.intake import Reader
from course.grading.pool import Pool
from course.grading.references import References
from course.grading.report import Item
from course.grading.runner import Outcome, Task
from course.interview import faults, nearness, tasks
from course.interview.fault import Program
from course.learner.practice import Exercise
from course.notebooks.notebook import exercise_of, role, v4, write
from course.parsed import parsed
from course.sandbox.launch import Limits

SECONDS = 120
"""After this a mended program is stopped."""


@dataclass(frozen=True)
class Verdict:
    """What an exercise's check says: points of how many, and what is wrong.

    `parts` are the functions of an answer that isn't right, where some of them are: whether each one is. Where none is,
    or none is far off, `near` is what its values earn (`course.interview.nearness`), and `cases` says how many of them
    are right.
    """

    points: int
    of: int
    message: str
    parts: dict[str, bool] = field(default_factory=dict)
    near: float = 0.0
    cases: str = ""

    @property
    def score(self) -> float:
        """The share of points, of the functions that are right, or what the values earn, whichever is largest."""
        return max(self.points / self.of, sum(self.parts.values()) / max(1, len(self.parts)), self.near)


Tell = Callable[[str], None]
"""Hears what is being done at present."""


class Judge:
    """Checks answers to an exercise with inputs of a fresh seed; the practice inputs, where there are no solutions.

    What the solution and the known wrong answers show on these inputs is found out in a thread, while the answer is
    being written, since that takes longer than to run the answer. The judge sees a course of this exercise alone, so
    it runs no other. Close it.
    """

    def __init__(self, course: Course, asked: Exercise, seed: int) -> None:
        self._course, self._asked, self._name = course, asked, f"{asked.chapter}.ipynb"
        self._end, self._stop = ExitStack(), threading.Event()
        self._folder = Path(self._end.enter_context(tempfile.TemporaryDirectory(prefix="interview-")))
        alone, is_solved = Course(self._folder / "course"), (course.solutions / self._name).exists()
        source = (alone.solutions if is_solved else alone.pristine) / self._name
        _cut((course.solutions if is_solved else course.pristine) / self._name, source, asked.name)
        if course.reference.is_dir():
            alone.solutions.mkdir(exist_ok=True)
            alone.reference.symlink_to(course.reference.resolve())
        sources = {asked.chapter: source}
        self._reader = Reader(sources, apart=False)
        seed = seed if is_solved else PRACTICE_SEED
        self._references = References(sources, alone, self._folder, seed, are_stored=not is_solved)
        self._thread = threading.Thread(target=self._prepare, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._end.close()

    def _prepare(self) -> None:
        """Run the course's own answers. What goes wrong is said by the check, which then tries the same."""
        name = self._asked.name
        with suppress(Exception), Pool(Limits(), self._stop, size=1) as pool:
            reference = self._references.of(self._asked.chapter)
            reference.prepare([name], pool)
            reference.explain([name], pool)
            reference.prepare_alone(name, [share.parts for share in reference.kits.kinds[name].shares], pool)

    def check(self, answer: str, tell: Tell = lambda said: None) -> Verdict:
        """Check an answer. If it isn't right, each of its functions is checked while the others are the solution's."""
        answer = tasks.with_our_torch(tasks.unwrapped(answer, self._asked), tasks.package_of(self._asked))
        if self._thread.is_alive():
            tell("running the course's own answers")
            self._thread.join()
        with (pool := _Telling(tell, Limits(), self._stop, size=1)):
            tell("running your answer")
            found = self._item(answer, pool)
            if found.status == "passed":
                return Verdict(found.points, found.max_points, "")
            if tasks.missing(found.message):  # that explains everything
                return Verdict(found.points, found.max_points, found.message)
            name, whole = self._asked.name, pool.shares.get(self._asked.name, [])
            wrong = [part for part in found.parts if part.status != "passed"]
            alone = [pool.shares.get(credit.key(name, part.names), []) for part in wrong]
            parts = {_short(each): part.status == "passed" for part in found.parts for each in part.names}
            mixed = {} if parts else _mixed(tasks.stub_of(self._asked), self._solution, answer)
            for each, text in mixed.items():
                tell(_alone([each]))
                parts[each] = self._item(text, pool).status == "passed"
                alone += [] if parts[each] else [pool.shares.get(name, [])]
        if any(parts.values()) and not (alone and all(nearness.is_close(each) for each in alone)):
            # the cases of the functions that are right would count for the others
            return Verdict(found.points, found.max_points, found.message, {} if all(parts.values()) else parts)
        told = parts if any(parts.values()) else {}
        return Verdict(found.points, found.max_points, found.message, told, nearness.score(whole), nearness.told(whole))

    @property
    def _solution(self) -> str:
        return tasks.solution_of(self._course, self._asked)

    def _item(self, answer: str, pool: Pool) -> Item:
        """What a grade says of an answer.

        Raises:
            RuntimeError: the machine couldn't grade it.
        """
        path = self._folder / self._name
        _cut(self._course.pristine / self._name, path, self._asked.name, answer)
        result, submission = self._reader.read(path)[0]
        if submission is not None:
            grade_one(result, submission, self._references.of, pool)
        found = next((each for each in result.items if each.grade_id == self._asked.name), None)
        if result.status != "graded" or found is None:
            raise RuntimeError(result.reason or f"{self._asked.name} could not be graded")
        return found


class _Telling(Pool):
    """A pool that says which functions of an answer it runs alone, and keeps which values of a run are right."""

    def __init__(self, tell: Tell, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tell = tell
        self.shares: dict[str, list[float]] = {}
        """By the name of a run that isn't right, the share of each of its values that is."""

    def run(
        self, tasks: list[Task], expected: Mapping[str, Bundle], seconds: float, deadline: float
    ) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for task in tasks:
            if task.only:
                self.tell(_alone([_short(name) for name in task.only]))
            outcomes |= super().run([task], expected, seconds, deadline)
            line = outcomes[task.exercise].line
            self.shares[task.exercise] = nearness.shares(expected.get(task.exercise), line)
        return outcomes


def _short(part: str) -> str:
    """What a part of mytorch is called in an answer's text: `append` for mytorch.llama:KVCache.append.

    A derivative has the name of its function, so it keeps what stands before it.
    """
    owner, _, name = part.rpartition(":")[2].rpartition(".")
    return f"{owner}.{name}" if owner == "derivative" else name


def _alone(names: Sequence[str]) -> str:
    """What is said while these functions of an answer run and the others are the solution's."""
    return f"running {' and '.join(names)} with the solution's other functions"


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


def _cut(source: Path, target: Path, name: str, answer: str | None = None) -> None:
    """A copy of a chapter's notebook with one of its exercises alone, and with this answer."""
    notebook = v4.reads(source.read_text(encoding="utf-8"))
    notebook.cells = [cell for cell in notebook.cells if exercise_of(cell) in ("", name)]
    for cell in notebook.cells:
        if answer is not None and role(cell) == "solution":
            cell.source = answer
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(write(notebook), encoding="utf-8")


@dataclass(frozen=True)
class Mended:
    """What came of a debug round: a complaint for each fault, empty if its symptom is gone, and tests by name.

    `half` says of faults without a symptom in what the program still differs from the correct one, and `besides` lists
    other differences. A good test passes on the learner's program and fails on one with a single fault, which is then
    guarded. The `other` tests pass on both, and the `failing` ones fail on the learner's program.
    """

    complaints: dict[str, str]
    guarded: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    half: dict[str, str] = field(default_factory=dict)
    besides: list[str] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)

    def is_fixed(self, name: str) -> bool:
        """Whether the symptom of a fault is gone and nothing of the repair differs from the correct program."""
        return not self.complaints[name] and name not in self.half


def mended(path: Path, names: Sequence[str], seed: int) -> Mended:
    """Look for faults in the program at `path`, in a process of its own, since it may do anything.

    Args:
        seed: of the inputs on which it is compared with the correct program.
    """
    with tempfile.TemporaryDirectory(prefix="interview-") as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "course.interview.judged", str(path), str(result), str(seed), *names]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            told = (done.stderr.strip().splitlines() or ["the program ended the process"])[-1]
        except subprocess.TimeoutExpired:
            told = f"stopped after {SECONDS} seconds"
        if result.exists():
            return Mended(**json.loads(result.read_text(encoding="utf-8")))
        return Mended(dict.fromkeys(names, told))


def _look(path: Path, names: Sequence[str], seed: int) -> Mended:
    from course.interview.compared import compared  # which imports minitorch; the interview itself needs none

    source, chosen = path.read_text(encoding="utf-8"), [faults.named(name) for name in names]
    try:
        program = faults.load(source)
    except Exception as error:  # the learner's program
        return Mended(dict.fromkeys(names, f"{type(error).__name__}: {error}"))
    complaints = {fault.name: faults.complaint(fault, program) for fault in chosen}
    left = [fault for fault in chosen if complaints[fault.name]]
    comparison = compared(source, [fault for fault in chosen if fault not in left], left, seed)
    tests = [name for name in program.__dict__ if name.startswith("test_")]
    passing = [name for name in tests if not _fails(program, name)]
    seen_by: dict[str, list[str]] = {}
    for fault in chosen:
        spoiled = faults.load(f"{faults.planted([fault])}\n\n{_tests(source)}") if passing else program
        seen_by[fault.name] = [name for name in passing if _fails(spoiled, name)]
    good = [name for name in passing if any(name in seeing for seeing in seen_by.values())]
    guarded = [fault for fault, seeing in seen_by.items() if seeing]
    other = [name for name in passing if name not in good]
    failing = [name for name in tests if name not in passing]
    return Mended(complaints, guarded, good, other, comparison.half, comparison.besides, failing)


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
    found = _look(Path(sys.argv[1]), sys.argv[4:], int(sys.argv[3]))
    Path(sys.argv[2]).write_text(json.dumps(found.__dict__), encoding="utf-8")
