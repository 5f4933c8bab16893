"""Grade submissions: run each on inputs nobody saw before, and compare outside the process that ran it."""

import functools
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

from nbformat import NotebookNode

from course.authoring.execute import WeakCheckError
from course.authoring.notebook import tasks, v4
from course.check import PRACTICE_SEED
from course.files import Course
from course.grading.find import notebooks
from course.grading.intake import Read, Reader, of_assignment
from course.grading.kit import Kits
from course.grading.reference import Reference, stored
from course.grading.reference import run as run_reference
from course.grading.report import Report, Result
from course.grading.score import score
from course.grading.submission import Submission
from course.grading.warm import Pool
from course.learner import package
from course.reports.printable import printable
from course.sandbox.outside import Limits, SandboxError

T = TypeVar("T")
_DRAWS = 3
_WARM = 8  # sandboxes that wait for the next submission, for each that is graded at a time


def grade(
    paths: Iterable[Path],
    course: Course,
    seed: int | None = None,
    jobs: int = 1,
    limits: Limits | None = None,
    explain: bool = True,
    before: Report | None = None,
    keep: Callable[[Report], None] = lambda report: None,
    dask: str | None = None,
    assignment: str = "",
) -> Report:
    """Grade submissions on inputs drawn from a fresh seed (see docs/grading.md).

    Args:
        paths: notebooks, or folders of them.
        course: whose `solutions` hold the references.
        seed: repeats the grade that had this seed.
        jobs: how many notebooks run at a time.
        limits: what one submission may use.
        explain: run the known wrong answers too, to recognise them in a submission.
        before: an earlier report. All of it is kept. What is given again is graded again, in its place, unless it was
            graded and the file has not changed since. Its seed is this grade's.
        keep: is called with the report so far, whenever a submission has been graded.
        dask: the address of a Dask cluster whose workers grade; see `course.grading.cluster`.
        assignment: the one chapter to be graded; notebooks of others are rejected. All chapters, if it is empty.
    """
    held = before.submissions if before else []
    if before:
        seed = before.seed
    draws = [seed] if seed is not None else [secrets.randbelow(2**31) for _ in range(_DRAWS)]
    sources = {path.stem: path for path in sorted(course.solutions.glob("*.ipynb"))}
    known = {(result.path, result.digest) for result in held if result.status == "graded"}
    known_paths = {result.path for result in held}
    with Reader(sources) as reader:
        read = [reader.read(path) for path in notebooks(paths)]
    given = [pair for each in read for pair in (of_assignment(each, assignment) if assignment else each)]
    given = [pair for pair in given if (pair[0].path, pair[0].digest) not in known]
    needed = sorted({result.chapter for result, _ in given if result.chapter})
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        ready = [_made(sources[chapter], course, Path(folder)) for chapter in needed]
        for drawn in draws:  # inputs on which a known wrong answer looks right are no good
            references = _run_references(ready, drawn, jobs, explain, stop)
            if not any(isinstance(each, WeakCheckError) for each in references):
                break

        def with_held(new: list[Result]) -> Report:
            again = {result.path: result for result in new}
            kept = [again.get(result.path, result) for result in held]
            return Report(drawn, kept + [result for result in new if result.path not in known_paths])

        def keep_all(new: list[Result]) -> None:
            keep(with_held(new))

        by_chapter = dict(zip(needed, references, strict=True))
        if dask:
            from course.grading.cluster import run_all

            return with_held(run_all(dask, given, by_chapter, drawn, limits or Limits(), keep_all))
        return with_held(_run_all(given, by_chapter, drawn, jobs, limits or Limits(), stop, keep_all))


def practise(path: Path, course: Course, limits: Limits | None = None) -> Report:
    """Check one notebook against the outputs that were stored for the practice seed; needs no solutions."""
    pristine = {path.stem: path for path in sorted(course.pristine.glob("*.ipynb"))}
    with Reader(pristine, apart=False) as reader:
        result, submission = reader.read(path)[0]
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        references: dict[str, Reference | Exception] = {}
        if result.chapter:
            references[result.chapter] = stored(*_with_kits(pristine[result.chapter], course, Path(folder)))
        stop = threading.Event()
        return Report(
            PRACTICE_SEED, _run_all([(result, submission)], references, PRACTICE_SEED, 1, limits or Limits(), stop)
        )


def keep_passed(report: Report, course: Course) -> None:
    """What passed in the learner's own notebooks counts as it does in JupyterLab, unless they were changed since."""
    pristine = {path.stem: path for path in course.pristine.glob("*.ipynb")}
    with Reader(pristine, apart=False) as reader:
        for result in report.submissions:
            path = Path(result.path.removesuffix(f"#{result.chapter}"))
            passed = [item.grade_id for item in result.items if item.status == "passed"]
            if not passed or path.resolve().parent != course.exercises:
                continue
            for now, submission in reader.read(path):
                if submission and (now.chapter, now.digest) == (result.chapter, result.digest):
                    package.keep_passed(course, path, {name: submission.solutions[name] for name in passed})


def _with_kits(path: Path, course: Course, folder: Path) -> tuple[NotebookNode, Kits]:
    notebook = v4.reads(path.read_text(encoding="utf-8"))
    return notebook, Kits(folder / path.stem, course, notebook)


def _made(path: Path, course: Course, folder: Path) -> tuple[NotebookNode, Kits] | Exception:
    try:
        return _with_kits(path, course, folder)
    except Exception as error:
        return error


def _run_references(
    ready: list[tuple[NotebookNode, Kits] | Exception], seed: int, jobs: int, explain: bool, stop: threading.Event
) -> list[Reference | Exception]:
    """Run the references with this seed; an exception in the place of one that fails, which is no learner's fault."""

    def one(made: tuple[NotebookNode, Kits] | Exception) -> Reference | Exception:
        if isinstance(made, Exception):
            return made
        try:
            return run_reference(*made, seed, explain, stop)
        except Exception as error:
            return error

    return [future.result() for future in _each([functools.partial(one, each) for each in ready], jobs, stop)]


def _run_all(
    given: list[Read],
    references: dict[str, Any],
    seed: int,
    jobs: int,
    limits: Limits,
    stop: threading.Event,
    keep: Callable[[list[Result]], None] = lambda results: None,
) -> list[Result]:
    def one(result: Result, submission: Submission | None) -> Result | None:
        if submission is not None:
            grade_one(result, submission, references[submission.chapter], pool)
        return None if stop.is_set() else result

    def so_far(futures: list[Future[Result | None]]) -> list[Result]:
        done = [future.result() for future in futures if future.done() and not future.cancelled()]
        return [result for result in done if result is not None]

    calls: list[Callable[[], Result | None]] = [functools.partial(one, *pair) for pair in given]
    with Pool(seed, limits, stop, size=_WARM * jobs) as pool:
        return so_far(_each(calls, jobs, stop, lambda futures: keep(so_far(futures))))


def _each(
    calls: list[Callable[[], T]],
    jobs: int,
    stop: threading.Event,
    after: Callable[[list[Future[T]]], None] = lambda futures: None,
) -> list[Future[T]]:
    """Run all calls, `jobs` at a time, and `after` whenever one is done. An interrupt sets `stop` and waits."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            for _ in as_completed(futures):
                after(futures)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            after(futures)
            raise
    return futures


def grade_one(result: Result, submission: Submission, reference: Reference | Exception, pool: Pool) -> None:
    """Fill in the result of one submission, whatever happens to it."""
    try:
        _grade_one(result, submission, reference, pool)
    except SandboxError as error:
        result.status, result.reason = "not graded", str(error)
    except Exception as error:
        result.status, result.reason = "not graded", f"{type(error).__name__}: {error}"
    result.reason = printable(result.reason)
    for item in result.items:
        item.message = printable(item.message)
        for part in item.parts:
            part.message = printable(part.message)


def _grade_one(
    result: Result,
    submission: Submission,
    reference: Reference | Exception,
    pool: Pool,
) -> None:
    if isinstance(reference, Exception):
        result.status, result.reason = "not graded", f"the reference could not be run: {reference}"
        return
    result.max_score = sum(about["points"] for about in tasks(reference.notebook).values())
    result.reason = "; ".join(submission.notes)
    run = functools.partial(
        pool.run, expected=reference.expected, passes=lambda name, it: reference.verdict(name, it)[0] == "passed"
    )
    started = time.monotonic()
    outcomes = run(reference.tasks(submission))
    outcomes |= run(reference.tasks_alone(submission, outcomes))
    result.seconds = round(time.monotonic() - started, 2)
    result.status = "graded"
    result.items = score(submission, reference, outcomes)
    result.score = sum(item.points for item in result.items)
