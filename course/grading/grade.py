"""Grade submissions: run each on inputs nobody saw before, and compare outside the process that ran it."""

import functools
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

from course.check import PRACTICE_SEED
from course.checks.printable import clean, printable
from course.files import Course
from course.grading.assigned import with_assignments
from course.grading.brief import shorten
from course.grading.find import notebooks
from course.grading.intake import Read, Reader, of_assignment
from course.grading.pool import Pool
from course.grading.reference import Reference, ReferenceFailedError
from course.grading.references import References
from course.grading.report import Item, Report, Result
from course.grading.run import Run
from course.grading.submission import Submission
from course.learner import package, withheld
from course.sandbox.launch import Limits, SandboxError
from course.work import unsealed

T = TypeVar("T")
_MOST_CODE = 10_000  # characters of an answer in a report
_WARM = 8  # sandboxes that wait for the next submission, for each that is graded at a time
_LOOK_UP_SECONDS = 0.2


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
    brief: bool = False,
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
        brief: keep out of the messages what answers chose; see `course.grading.brief`.
    """
    held = before.submissions if before else []
    seed = before.seed if before else secrets.randbelow(2**31) if seed is None else seed
    sources = {path.stem: path for path in sorted(course.solutions.glob("*.ipynb"))}
    known = {(result.path, result.digest) for result in held if result.status == "graded"}
    known_paths = {result.path for result in held}
    with Reader(sources) as reader:
        read = [reader.read(path) for path in notebooks(paths)]
    given = [pair for each in read for pair in (of_assignment(each, assignment) if assignment else each)]
    given = [pair for pair in given if (pair[0].path, pair[0].digest) not in known]
    with_assignments(Report(seed, [result for result, _ in given]), reader.points)
    redrawn = before.redrawn if before else []
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        references = References(sources, course, Path(folder), seed, explain, redrawn)

        submissions = {result.path: submission for result, submission in given}

        def with_held(new: list[Result]) -> Report:
            for result in new if brief else ():
                if result.items and (submission := submissions[result.path]):
                    shorten(result, submission, references.of(submission.chapter).says)
            again = {result.path: result for result in new}
            kept = [again.get(result.path, result) for result in held]
            added = [result for result in new if result.path not in known_paths]
            return Report(seed, kept + added, references.redrawn())

        def keep_all(new: list[Result]) -> None:
            keep(with_held(new))

        limits = limits or Limits()
        if dask:
            from course.grading.cluster import run_all

            return with_held(run_all(dask, given, references, limits, keep_all))
        return with_held(_run_all(given, references, jobs, limits, threading.Event(), keep_all))


class Practice:
    """Checks answers against the outputs that were stored for the practice seed; needs no solutions. Close it."""

    def __init__(self, course: Course, limits: Limits | None = None) -> None:
        self.course, self._stop, self._end = course, threading.Event(), ExitStack()
        pristine = {path.stem: path for path in sorted(course.pristine.glob("*.ipynb"))}
        folder = Path(self._end.enter_context(tempfile.TemporaryDirectory(prefix="course-")))
        self._references = References(pristine, course, folder, PRACTICE_SEED, are_stored=True)
        self._reader = self._end.enter_context(Reader(pristine, apart=False))
        self._pool = self._end.enter_context(Pool(limits or Limits(), self._stop, size=_WARM))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End what runs and what was started."""
        self._stop.set()
        self._end.close()

    def read(self, path: Path) -> Read:
        """Read a notebook, which is rejected unless it is one of the course."""
        return self._reader.read(path)[0]

    @property
    def assignments(self) -> dict[str, int]:
        """The points of each chapter."""
        return self._reader.points

    def points(self, chapter: str) -> dict[str, int]:
        """The points of each exercise of a chapter."""
        return {name: about["points"] for name, about in self._references.of(chapter).tasks.items()}

    def judged(self, result: Result, submission: Submission | None) -> Result:
        """Fill in the result of what was read."""
        if submission is not None:
            grade_one(result, submission, self._references.of, self._pool)
        return result


def practise(paths: Iterable[Path], course: Course, only: str = "") -> Report:
    """Check notebooks on the practice seed; of each `only` this exercise, if it is named."""
    with Practice(course) as practice:
        read = [practice.read(path) for path in paths]
        if only:
            read = [(result, given and _of_one(given, only)) for result, given in read]
        graded = Report(PRACTICE_SEED, [practice.judged(*each) for each in read])
        report = with_assignments(graded, practice.assignments)
    for result in report.submissions if only else ():
        result.items = [item for item in result.items if item.grade_id == only]
        result.score = sum(item.points for item in result.items)
        result.max_score = sum(item.max_points for item in result.items)
    return report


def _of_one(submission: Submission, exercise: str) -> Submission:
    return replace(submission, answered=[name for name in submission.answered if name == exercise])


def is_open(item: Item) -> bool:
    """Whether an exercise is not answered yet, or waits for a part of mytorch that is not written yet."""
    return item.status == "skipped" or withheld.waits(item.message)


def keep_passed(report: Report, course: Course) -> None:
    """What passed in the learner's own notebooks counts as it does in JupyterLab, unless they were changed since."""
    own = [
        (result, path, passed)
        for result in report.submissions
        if (path := Path(result.path.removesuffix(f"#{result.chapter}"))).resolve().parent == course.exercises
        if (passed := [item.grade_id for item in result.items if item.status == "passed"])
    ]
    pristine = {path.stem: path for path in course.pristine.glob("*.ipynb")} if own else {}
    with Reader(pristine, apart=False) as reader:
        for result, path, passed in own:
            for now, submission in reader.read(path):
                if submission and (now.chapter, now.digest) == (result.chapter, result.digest):
                    package.keep_passed(course, path, {name: submission.solutions[name] for name in passed})


def _run_all(
    given: list[Read],
    references: References,
    jobs: int,
    limits: Limits,
    stop: threading.Event,
    keep: Callable[[list[Result]], None] = lambda results: None,
) -> list[Result]:
    graded: dict[str, dict[str, int]] = {}  # by path, the seed of each exercise that was run

    def one(result: Result, submission: Submission | None) -> Result | None:
        if submission is not None:
            graded[result.path] = grade_one(result, submission, references.of, pool)
        return None if stop.is_set() else result

    def is_stale(result: Result, submission: Submission | None) -> bool:
        """Whether an exercise has been drawn again since, for the sake of another submission."""
        now = references.seeds(submission.chapter) if submission else {}
        return any(now.get(name) != seed for name, seed in graded.get(result.path, {}).items())

    def so_far(futures: list[Future[Result | None]]) -> list[Result]:
        done = [future.result() for future in futures if future.done() and not future.cancelled()]
        return [result for result in done if result is not None]

    with Pool(limits, stop, size=_WARM * jobs, jobs=jobs) as pool:
        calls: list[Callable[[], Result | None]] = [functools.partial(one, *pair) for pair in given]
        results = so_far(_each(calls, jobs, stop, lambda futures: keep(so_far(futures))))
        while stale := [pair for pair in given if is_stale(*pair)]:
            _each([functools.partial(one, *pair) for pair in stale], jobs, stop)
            keep(results)
        return results


def _each(
    calls: list[Callable[[], T]],
    jobs: int,
    stop: threading.Event,
    after: Callable[[list[Future[T]]], None] = lambda futures: None,
) -> list[Future[T]]:
    """Run all calls, `jobs` at a time, and `after` whenever one is done. An interrupt sets `stop` and waits."""
    futures: list[Future[T]] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures.extend(pool.submit(call) for call in calls)
            left = set(futures)
            while left:
                # A signal that another thread got does not wake this one, which alone acts on it.
                done, left = wait(left, timeout=_LOOK_UP_SECONDS, return_when=FIRST_COMPLETED)
                if done:
                    after(futures)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            after(futures)
            raise
    return futures


def grade_one(
    result: Result, submission: Submission, reference_of: Callable[[str], Reference], pool: Pool
) -> dict[str, int]:
    """Fill in the result of one submission, whatever happens to it; the seed of each exercise that was run."""
    result.items, seeds = [], {}
    try:
        seeds = Run(result, submission, reference_of(submission.chapter), pool).grade()
    except ReferenceFailedError as error:
        result.status, result.reason = "not graded", f"the reference could not be run: {error}"
    except SandboxError as error:
        result.status, result.reason = "not graded", str(error)
    except Exception as error:
        result.status, result.reason = "not graded", f"{type(error).__name__}: {error}"
    result.reason = printable(result.reason)
    for item in result.items:
        item.message, item.code = printable(unsealed(item.message)), clean(item.code, _MOST_CODE)
        for part in item.parts:
            part.message = printable(part.message)
    return seeds
