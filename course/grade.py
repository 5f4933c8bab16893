"""Grade submissions: run each on inputs nobody saw before, and compare outside the process that ran it."""

import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from course import execute, kernel, sandbox
from course.check import PRACTICE_SEED
from course.files import Course, write_atomically
from course.merge import (
    RejectedError,
    Submission,
    chapter_of,
    has_code,
    merge,
    read,
    solutions_of,
    stubs_of,
)
from course.notebook import OURS, role, tasks, v4, write

SCHEMA_VERSION = 1


@dataclass
class Item:
    """The result of one exercise. `status`: passed, failed, error, timeout, missing or skipped."""

    grade_id: str
    points: int
    max_points: int
    status: str
    message: str


@dataclass
class Result:
    """The result of one submission. `status`: graded, not graded (a fault of the machine) or rejected."""

    path: str
    chapter: str | None = None
    status: str = "rejected"
    reason: str = ""
    score: int = 0
    max_score: int = 0
    seconds: float = 0.0
    items: list[Item] = field(default_factory=list)


@dataclass
class Report:
    """A whole run of the grader."""

    seed: int
    submissions: list[Result]

    def to_json(self) -> str:
        """The report in the versioned format of docs/grading.md."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def grade(
    paths: Iterable[Path],
    course: Course,
    seed: int | None = None,
    jobs: int = 1,
    limits: sandbox.Limits | None = None,
    explain: bool = True,
) -> Report:
    """Grade submissions on inputs drawn from a fresh seed (see docs/grading.md).

    Args:
        paths: notebooks, or folders of them.
        course: whose `solutions` hold the references.
        seed: repeats the grade that had this seed.
        jobs: how many notebooks run at a time.
        limits: what one submission may use.
        explain: run the known wrong answers too, to recognise them in a submission.
    """
    seed = secrets.randbelow(2**31) if seed is None else seed
    references = {path.stem: path for path in sorted(course.solutions.glob("*.ipynb"))}
    read_in = [_read(path, list(references)) for path in _notebooks(paths)]
    needed = sorted({result.chapter for result, _ in read_in if result.chapter})
    executed = _execute([references[chapter] for chapter in needed], course, seed, jobs, explain)
    return _run_all(read_in, dict(zip(needed, executed, strict=True)), course, seed, jobs, limits or sandbox.Limits())


def practise(path: Path, course: Course, limits: sandbox.Limits | None = None) -> Report:
    """Check one notebook against the outputs that were stored for the practice seed; needs no solutions."""
    pristine = {path.stem: path for path in sorted(course.pristine.glob("*.ipynb"))}
    read_in = [_read(path, list(pristine))]
    executed = {name: v4.reads(pristine[name].read_text(encoding="utf-8")) for name in [read_in[0][0].chapter] if name}
    for notebook in executed.values():
        for cell in notebook.cells:
            if role(cell) == "solution":
                cell.metadata[OURS]["stub"] = cell.source
    return _run_all(read_in, executed, course, PRACTICE_SEED, 1, limits or sandbox.Limits())


def _notebooks(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and the notebooks below the folders, hidden folders aside."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = (
                file
                for file in path.rglob("*.ipynb")
                if not any(p.startswith(".") for p in file.relative_to(path).parts)
            )
            found += sorted(below)
        else:
            found.append(path)
    return found


def _read(path: Path, chapters: list[str]) -> tuple[Result, NotebookNode | None]:
    try:
        notebook = read(path)
        return Result(str(path), chapter_of(notebook, path, chapters)), notebook
    except (RejectedError, OSError) as error:
        return Result(str(path), reason=str(error)), None


def _execute(
    paths: list[Path], course: Course, seed: int, jobs: int, explain: bool
) -> list[NotebookNode | BaseException]:
    """Run the references with this seed; an exception in the place of one that fails, which is no learner's fault."""

    async def one(path: Path) -> NotebookNode:
        notebook: NotebookNode = v4.reads(path.read_text(encoding="utf-8"))
        about = tasks(notebook)
        if not explain:
            for each in about.values():
                each["mutants"] = []
        part = v4.new_notebook(cells=[cell for cell in notebook.cells if role(cell)])  # the same cells, not copies
        with tempfile.TemporaryDirectory(prefix="course-") as folder:
            says = await execute.execute_reference(part, Path(folder), course.root, seed)
        for name, each in about.items():
            each["mutants"] = says[name]
        return notebook

    return execute.run(*map(one, paths), workers=jobs)


def _run_all(
    read_in: list[tuple[Result, NotebookNode | None]],
    executed: dict[str, Any],
    course: Course,
    seed: int,
    jobs: int,
    limits: sandbox.Limits,
) -> Report:
    def one(result: Result, notebook: NotebookNode | None) -> Result:
        if notebook is None:
            return result
        reference = executed[str(result.chapter)]
        if isinstance(reference, BaseException):
            result.status, result.reason = "not graded", f"the reference could not be run: {reference}"
            return result
        return _grade_one(result, notebook, reference, course, seed, limits)

    with ThreadPoolExecutor(jobs) as pool:
        return Report(seed, list(pool.map(lambda pair: one(*pair), read_in)))


def _grade_one(
    result: Result, notebook: NotebookNode, reference: NotebookNode, course: Course, seed: int, limits: sandbox.Limits
) -> Result:
    submission = solutions_of(notebook, reference)
    result.reason = "; ".join(submission.notes)
    with tempfile.TemporaryDirectory(prefix="grade-") as name:
        folder = Path(name)
        path, report = folder / "notebook" / f"{submission.chapter}.ipynb", folder / "report.jsonl"
        write_atomically(path, write(merge(reference, submission)))
        environment = {**kernel.environment(folder, seed, course.root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        ended = sandbox.run(_pytest(path, report, limits), folder, environment, limits)
        lines = report.read_text(encoding="utf-8", errors="replace").splitlines() if report.exists() else []
    result.seconds = round(ended.seconds, 2)
    result.max_score = sum(about["points"] for about in tasks(reference).values())
    if fault := machine_fault(ended, lines):
        result.status, result.reason = "not graded", fault
        return result
    result.status = "graded"
    result.items = score(submission, reference, lines, ended)
    result.score = sum(item.points for item in result.items)
    return result


def _pytest(path: Path, report: Path, limits: sandbox.Limits) -> list[str]:
    """nbval alone, and nothing from the folder or the user: no conftest.py, no configuration, no other plugin."""
    plugins = ["-p", "course.nbval_plugin", "-p", "nbval.plugin", "-p", "no:cacheprovider"]
    isolation = ["--noconftest", "-c", os.devnull, "--rootdir", str(path.parent), "--color=no", "-q"]
    timeouts = ["--nbval-cell-timeout", str(limits.cell_seconds), "--nbval-kernel-startup-timeout", "60"]
    return [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        *plugins,
        *isolation,
        *timeouts,
        "--course-report",
        str(report),
        str(path),
    ]


def machine_fault(ended: sandbox.Ended, lines: list[str]) -> str:
    """Why nothing can be said about the submission: pytest or the first kernel never started; empty if they did."""
    if not lines and ended.returncode in (1, 2, 3, 4, 5):
        return f"pytest could not run (exit code {ended.returncode}): {ended.output[-500:].strip()}"
    if lines and (first := _line(lines[0])) and first["when"] == "setup":
        return f"the kernel could not be started: {first['message']}"
    return ""


def _line(text: str) -> dict[str, Any] | None:
    """A line of the report; None if the run ended within it."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return None


def score(submission: Submission, reference: NotebookNode, lines: list[str], ended: sandbox.Ended) -> list[Item]:
    """Points come from one explicit pass of the exercise's check, and from nothing else."""
    reports = [report for line in lines if (report := _line(line)) is not None]
    stubs = stubs_of(reference)
    items = []
    for name, about in tasks(reference).items():
        checks = [report for report in reports if report["exercise"] == name and report["role"] == "check"]
        solution = next(
            (report for report in reports if report["exercise"] == name and report["role"] == "solution"), None
        )
        status, message = _judge(checks, solution, ended)
        if name not in submission.solutions:
            status, message = "missing", "the solution cell is not in the notebook"
        elif status != "passed" and not has_code(submission.solutions[name], stubs[name]):
            status, message = "skipped", "not solved yet"
        items.append(Item(name, about["points"] if status == "passed" else 0, about["points"], status, message))
    return items


def _judge(checks: list[dict[str, Any]], solution: dict[str, Any] | None, ended: sandbox.Ended) -> tuple[str, str]:
    if ended.returncode not in (0, 1, None):
        return "error", f"the run ended with code {ended.returncode}, which says nothing about the exercises"
    if len(checks) != 1:
        return (
            ("timeout", "the whole run took too long")
            if ended.returncode is None
            else ("error", "the check did not run")
        )
    check = checks[0]
    if check["outcome"] == "passed" and check["status"] == "passed" and check["compared"] is True:
        return "passed", ""
    if solution is not None and solution["status"] != "passed":
        return solution["status"], f"the solution cell: {solution['message']}"
    status = check["status"] if check["status"] in ("failed", "timeout") else "error"
    message = check["message"] or f"the check was {check['outcome']}"
    if message.startswith("NameError"):
        message += " (cells that you added do not run in a grade: the solution cell holds all that it needs)"
    return status, message
