"""Grade submissions: run each on inputs nobody saw before, and compare outside the process that ran it."""

import functools
import json
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from nbformat import NotebookNode

from course import renamed
from course.authoring.cells import has_code
from course.authoring.execute import WeakCheckError
from course.authoring.notebook import tasks, v4
from course.check import PRACTICE_SEED
from course.files import Course
from course.grading import credit, runner
from course.grading.credit import Part
from course.grading.find import RejectedError, digest, notebooks, read
from course.grading.kit import Kits
from course.grading.merge import Submission, chapter_of, solutions_of, stubs_of
from course.grading.reference import Reference, stored
from course.grading.reference import run as run_reference
from course.grading.warm import Pool
from course.kinds import kind_of
from course.learner import package
from course.reports.printable import printable, printable_path
from course.sandbox.outside import Limits, SandboxError

T = TypeVar("T")
SCHEMA_VERSION = 1
_DRAWS = 3
_WARM = 8  # sandboxes that wait for the next submission, for each that is graded at a time
_UNDEFINED = re.compile(r"\bNameError: name '(\w+)' is not defined")


@dataclass
class Item:
    """The result of one exercise. `status`: passed, failed, error, timeout, missing or skipped.

    `parts`: what each part earned, where they are scored one by one.
    """

    grade_id: str
    points: int
    max_points: int
    status: str
    message: str
    parts: list[Part] = field(default_factory=list)


@dataclass
class Result:
    """The result of one submission. `status`: graded, not graded (a fault of the machine) or rejected.

    `digest` is the SHA-256 of the file that was graded.
    """

    path: str
    chapter: str | None = None
    status: str = "rejected"
    reason: str = ""
    score: int = 0
    max_score: int = 0
    seconds: float = 0.0
    digest: str = ""
    items: list[Item] = field(default_factory=list)


@dataclass
class Report:
    """A whole run of the grader."""

    seed: int
    submissions: list[Result]

    def to_json(self) -> str:
        """The report in the versioned format of docs/grading.md."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """The report that `to_json` wrote.

        Raises:
            ValueError: it is of another format.
        """
        try:
            read = json.loads(text)
            results = [Result(**{**each, "items": [*map(_item, each["items"])]}) for each in read["submissions"]]
            if read["schema_version"] == SCHEMA_VERSION:
                return cls(int(read["seed"]), results)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("not a report of `course grade`") from error
        raise ValueError(f"a report of version {read['schema_version']}, not {SCHEMA_VERSION}")


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
    """
    held = before.submissions if before else []
    if before:
        seed = before.seed
    draws = [seed] if seed is not None else [secrets.randbelow(2**31) for _ in range(_DRAWS)]
    sources = {path.stem: path for path in sorted(course.solutions.glob("*.ipynb"))}
    known = {(result.path, result.digest) for result in held if result.status == "graded"}
    known_paths = {result.path for result in held}
    read_in = [pair for path in notebooks(paths) for pair in _with_moved(*_read(path, list(sources)), sources)]
    read_in = [pair for pair in read_in if (pair[0].path, pair[0].digest) not in known]
    needed = sorted({result.chapter for result, _ in read_in if result.chapter})
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

            return with_held(run_all(dask, read_in, by_chapter, drawn, limits or Limits(), keep_all))
        return with_held(_run_all(read_in, by_chapter, drawn, jobs, limits or Limits(), stop, keep_all))


def practise(path: Path, course: Course, limits: Limits | None = None) -> Report:
    """Check one notebook against the outputs that were stored for the practice seed; needs no solutions."""
    pristine = {path.stem: path for path in sorted(course.pristine.glob("*.ipynb"))}
    result, notebook = _read(path, list(pristine))
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        references: dict[str, Reference | Exception] = {}
        if result.chapter:
            references[result.chapter] = stored(*_with_kits(pristine[result.chapter], course, Path(folder)))
        stop = threading.Event()
        return Report(
            PRACTICE_SEED, _run_all([(result, notebook)], references, PRACTICE_SEED, 1, limits or Limits(), stop)
        )


def keep_passed(report: Report, course: Course) -> None:
    """What passed in the learner's own notebooks counts as it does in JupyterLab."""
    for result in report.submissions:
        path, passed = (
            Path(result.path.removesuffix(f"#{result.chapter}")),
            [item.grade_id for item in result.items if item.status == "passed"],
        )
        if passed and path.resolve().parent == course.exercises:
            pristine = v4.reads((course.pristine / f"{result.chapter}.ipynb").read_text(encoding="utf-8"))
            answers = solutions_of(read(path), pristine).solutions
            package.keep_passed(course, path, {name: answers[name] for name in passed})


def _read(path: Path, chapters: list[str]) -> tuple[Result, NotebookNode | None]:
    name = printable_path(path)
    try:
        notebook = read(path)
        return Result(name, chapter_of(notebook, path, chapters), digest=digest(path)), notebook
    except RejectedError as error:
        return Result(name, reason=printable(str(error))), None
    except (OSError, ValueError) as error:
        return Result(name, reason=printable(f"cannot be read: {getattr(error, 'strerror', None) or error}")), None


def _with_moved(
    result: Result, notebook: NotebookNode | None, sources: dict[str, Path]
) -> list[tuple[Result, NotebookNode | None]]:
    """A submission, and once more for each chapter to which exercises that it answers have moved (`renamed.MOVED`)."""
    found = [(result, notebook)]
    if notebook is None or result.chapter not in renamed.MOVED.values():
        return found
    here = {name for name, before in renamed.MOVED.items() if before == result.chapter}
    for chapter, path in sources.items():
        reference = v4.reads(path.read_text(encoding="utf-8"))
        stubs = {name: stub for name, stub in stubs_of(reference).items() if name in here}
        answers = solutions_of(notebook, reference).solutions if stubs and chapter != result.chapter else {}
        if any(has_code(text, stubs[name]) for name, text in answers.items() if name in stubs):
            found.append((Result(f"{result.path}#{chapter}", chapter, digest=result.digest), notebook))
    return found


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
    read_in: list[tuple[Result, NotebookNode | None]],
    references: dict[str, Any],
    seed: int,
    jobs: int,
    limits: Limits,
    stop: threading.Event,
    keep: Callable[[list[Result]], None] = lambda results: None,
) -> list[Result]:
    def one(result: Result, notebook: NotebookNode | None) -> Result | None:
        if notebook is not None:
            grade_one(result, notebook, references[str(result.chapter)], pool)
        return None if stop.is_set() else result

    def so_far(futures: list[Future[Result | None]]) -> list[Result]:
        done = [future.result() for future in futures if future.done() and not future.cancelled()]
        return [result for result in done if result is not None]

    calls: list[Callable[[], Result | None]] = [functools.partial(one, *pair) for pair in read_in]
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


_parsing = threading.Lock()  # Python 3.11 can't parse in two threads: https://github.com/python/cpython/issues/106905


def grade_one(result: Result, notebook: NotebookNode, reference: Reference | Exception, pool: Pool) -> None:
    """Fill in the result of one submission, whatever happens to it."""
    try:
        _grade_one(result, notebook, reference, pool)
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
    notebook: NotebookNode,
    reference: Reference | Exception,
    pool: Pool,
) -> None:
    if isinstance(reference, Exception):
        result.status, result.reason = "not graded", f"the reference could not be run: {reference}"
        return
    with _parsing:
        submission = solutions_of(notebook, reference.notebook)
        asked = reference.tasks(submission.solutions)
    result.max_score = sum(about["points"] for about in tasks(reference.notebook).values())
    result.reason = "; ".join(submission.notes)
    run = functools.partial(
        pool.run, expected=reference.expected, passes=lambda name, it: reference.verdict(name, it)[0] == "passed"
    )
    started = time.monotonic()
    outcomes = run(asked)
    with _parsing:
        alone = reference.tasks_alone(submission.solutions, outcomes)
    outcomes |= run(alone)
    result.seconds = round(time.monotonic() - started, 2)
    result.status = "graded"
    with _parsing:
        result.items = score(submission, reference, outcomes)
    result.score = sum(item.points for item in result.items)


def score(submission: Submission, reference: Reference, outcomes: dict[str, runner.Outcome]) -> list[Item]:
    """Points come from explicit passes, of the exercise's check or of it with a part alone, and from nothing else."""
    items = []
    kinds = {name: kind_of(about) for name, about in tasks(reference.notebook).items()}
    owned = {name: kind.parts for name, kind in kinds.items()}
    stubs = stubs_of(reference.notebook)

    def verdict(key: str, name: str) -> tuple[str, str]:
        status, message = reference.verdict(key, outcomes[key])
        unknown = _UNDEFINED.search(message)
        return status, message + (submission.about_undefined(unknown[1], name, owned) if unknown else "")

    for name, about in tasks(reference.notebook).items():
        if name in outcomes:
            status, message = verdict(name, name)
        elif name in submission.solutions:
            status, message = "skipped", "not solved yet"
        else:
            status, message = "missing", "the solution cell is not in the notebook"
        item = Item(name, about["points"] if status == "passed" else 0, about["points"], status, message)
        for share in kinds[name].shares:
            key, each = credit.key(name, share.parts), (status, message)
            if key in outcomes:
                each = verdict(key, name)
            elif name in outcomes and status != "passed":
                each = credit.untried(submission.solutions[name], stubs[name], share.parts)
            item.parts.append(credit.earned(share, *each))
        if status in ("failed", "error", "timeout") and item.parts:
            item.points, item.message = sum(part.points for part in item.parts), credit.told(item.parts, message)
        items.append(item)
    return items


def _item(read: dict[str, Any]) -> Item:
    """Reports of older versions have no `parts`."""
    return Item(**{**read, "parts": [Part(**each) for each in read.get("parts", [])]})
