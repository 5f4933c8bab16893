"""Grade on a Dask cluster: its workers run the submissions, and this process runs the references and keeps the report.

Each worker is a machine with this course on it, the same files; `MINITORCH_COURSE_ROOT` says where if it is not the one
that is installed. What a worker gets is the answers of a notebook and the expected values, which stay outside the
sandbox there too.
https://distributed.dask.org/en/stable/
"""

import functools
import hashlib
import os
import tempfile
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.files import CODE, Course
from course.grading.grade import grade_one
from course.grading.intake import Read
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.reference import Draw, Reference, ReferenceFailedError
from course.grading.references import References
from course.grading.report import Result
from course.grading.submission import Submission
from course.notebooks.notebook import v4
from course.sandbox import launch
from course.sandbox.launch import Limits, SandboxError

_WARM = 16  # sandboxes that wait on a worker for the next submission


@dataclass(frozen=True)
class Chapter:
    """What a worker needs to know about a chapter: its reference without the folders of this machine."""

    name: str
    notebook: str
    draws: dict[str, Draw]
    key: str


@dataclass(frozen=True)
class GradeSettings:
    """What all submissions of a grade have in common."""

    identity: str
    version: str
    is_sandboxed: bool
    seed: int
    limits: Limits


class _Worker:
    """What a worker keeps during a grade: packages, and sandboxes that are started."""

    def __init__(self, run: GradeSettings) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True)
        self.stop = threading.Event()
        self.seed, self.pool = run.seed, Pool(run.limits, self.stop, _WARM, os.cpu_count() or 1)
        self.references: dict[str, Reference] = {}
        self.lock = threading.Lock()

    def reference(self, chapter: Chapter) -> Reference:
        with self.lock:
            if chapter.name not in self.references:
                notebook = v4.reads(chapter.notebook)
                folder = Path(tempfile.mkdtemp(dir=self.folder.name))  # a new one, if the last attempt failed
                kits = Kits(folder, Course.find(CODE), notebook)
                made = Reference(notebook, kits, self.seed, explain=False, draws=chapter.draws, key=chapter.key)
                self.references[chapter.name] = made
            return self.references[chapter.name]

    def end(self) -> None:
        self.stop.set()
        self.pool.close()
        self.folder.cleanup()


_workers: dict[str, _Worker] = {}
_starting = threading.Lock()


def run_all(
    address: str,
    given: list[Read],
    references: References,
    limits: Limits,
    keep: Callable[[list[Result]], None],
) -> list[Result]:
    """Grade the submissions on the cluster at this address ("tcp://host:8786"); the results in order.

    A submission whose worker is lost, or has other files than this machine, is "not graded".

    Raises:
        OSError: nothing answers at the address.
    """
    import distributed

    distributed_client: Any = distributed.Client  # without type hints
    as_completed: Any = distributed.as_completed
    run = GradeSettings(uuid.uuid4().hex, version(), not launch.trouble(), references.seed, limits)
    chapters, errors = _chapters(given, references, limits)
    done: list[Result | None] = [None] * len(given)
    with distributed_client(address, set_as_default=False) as client, client.as_current():
        known = {name: client.scatter(chapter, hash=False) for name, chapter in chapters.items()}
        futures: dict[Any, int] = {}
        for place, (result, submission) in enumerate(given):
            if submission is None:
                done[place] = result
            elif submission.chapter in known:
                call = functools.partial(grade_there, run)
                arguments = (known[submission.chapter], result, submission)
                futures[client.submit(call, *arguments, pure=False, key=f"{run.identity}-{place}")] = place
            else:
                result.status, result.reason = "not graded", str(errors[submission.chapter])
                done[place] = result
        try:
            for future in as_completed(list(futures)):
                place = futures[future]
                done[place] = _result(future, given[place][0])
                keep([result for result in done if result is not None])
        finally:
            client.cancel(list(futures))
            client.run(end_there, run.identity)
    return [result for result in done if result is not None]


def _chapters(
    given: list[Read], references: References, limits: Limits
) -> tuple[dict[str, Chapter], dict[str, Exception]]:
    """All that workers may need to know about each chapter that is answered; or why it cannot be found out."""
    answered: dict[str, set[str]] = {}
    for _, submission in given:
        if submission is not None:
            answered.setdefault(submission.chapter, set()).update(submission.answered)
    chapters: dict[str, Chapter] = {}
    errors: dict[str, Exception] = {}
    with Pool(limits, threading.Event(), _WARM) as pool:
        for name, exercises in answered.items():
            try:
                reference = references.of(name)
                reference.prepare(exercises, pool)
                reference.explain(exercises, pool)
                for exercise in exercises:
                    shares = reference.kits.kinds[exercise].shares
                    reference.prepare_alone(exercise, [share.parts for share in shares], pool)
                chapters[name] = Chapter(name, v4.writes(reference.notebook), reference.draws, reference.key)
            except (ReferenceFailedError, SandboxError) as error:
                errors[name] = error
    return chapters, errors


def grade_there(run: GradeSettings, chapter: Chapter, result: Result, submission: Submission) -> Result:
    """Grade one submission; runs on a worker."""
    if run.version != version():
        raise SandboxError("the worker and the grader have different versions of the course")
    if run.is_sandboxed and (trouble := launch.trouble()):
        raise SandboxError(f"the worker has no sandbox, although the grader's machine has one: {trouble}")
    with _starting:
        worker = _workers.get(run.identity) or _workers.setdefault(run.identity, _Worker(run))
    grade_one(result, submission, lambda name: worker.reference(chapter), worker.pool)
    return result


def end_there(identity: str) -> None:
    """End what a grade has left on a worker."""
    if worker := _workers.pop(identity, None):
        worker.end()


@functools.cache
def version() -> str:
    """A digest of the files that a grade depends on."""
    course = Course.find(CODE)
    folders = (CODE / "course", CODE / "minitorch", course.reference)
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _result(future: Any, result: Result) -> Result:
    if future.status == "finished":
        graded: Result = future.result()
        return graded
    error = future.exception() if future.status == "error" else "the cluster gave the submission up"
    result.status, result.reason = "not graded", str(error)
    return result
