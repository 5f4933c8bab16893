"""How many submissions `course grade` grades in a minute on one core, with the sandbox.

`python -m benchmarks.grading [CHAPTER ...] [--submissions N] [--seed N]` grades two classes for each chapter. In one
everybody has solved everything. In the other, of three, one has solved everything, one has a mistake in an exercise,
and one has solved half. All of it runs on one core. "once" is the time until the first submission is graded: the
packages are copied, the reference and the known mistakes run. "each" is the time of each other submission, which
depends on what else the machine does; "processor" is the core's own time for it, and "a minute" follows from that.

`--strange` grades a class of 21 instead: honest learners, files as they come, and attacks.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import os
import platform
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
import psutil

from course.files import Course
from course.grading.grade import grade
from course.grading.intake import outline_of
from course.grading.report import Report
from course.notebooks.notebook import exercise_of, role
from course.sandbox import launch
from tests.course.attacks import strange

CHAPTERS = ("01_global_settings", "06_computation_graph")


def notebooks(reference: Any, count: int, mixed: bool) -> list[Any]:
    """The submissions of a class."""
    return [_with_gaps(reference, number % 3 if mixed else 0) for number in range(count)]


class ProcessorTime:
    """The processor time of this process, of those it started, and of the sandboxes that have ended."""

    def __init__(self) -> None:
        self.of_ended = 0.0
        end = launch.Process.end

        def counted(process: launch.Process) -> None:
            with contextlib.suppress(psutil.NoSuchProcess):  # one that has ended by itself
                self.of_ended += _of_tree(psutil.Process(process.popen.pid))
            end(process)

        launch.Process.end = counted  # type: ignore[method-assign]

    def seconds(self) -> float:
        """So far."""
        return self.of_ended + _of_tree(psutil.Process())


def _of_tree(root: psutil.Process) -> float:
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        waited = 0.0 if process == root else times.children_user + times.children_system
        total += times.user + times.system + waited
    return total


def measure(
    course: Course, chapter: str, count: int, mixed: bool, seed: int, processor: ProcessorTime
) -> tuple[float, float, float, Report]:
    """Seconds until the first submission is graded; of all others seconds, and of the processor; and the report."""
    reference = nbformat.read(course.solutions / f"{chapter}.ipynb", as_version=4)
    moments: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="class-") as folder:
        for number, notebook in enumerate(notebooks(reference, count, mixed)):
            nbformat.write(notebook, Path(folder) / f"{number:03}.ipynb")
        started = time.perf_counter()
        report = grade(
            [Path(folder)], course, seed, keep=lambda _: moments.append((time.perf_counter(), processor.seconds()))
        )
    (first, first_used), (last, last_used) = moments[0], moments[-1]
    return first - started, last - first, last_used - first_used, report


def grade_strange(course: Course, chapter: str, seed: int, leave_out: list[str]) -> None:
    """Grade a class of honest learners, strange files and attacks, with the limits of its test."""
    with tempfile.TemporaryDirectory(prefix="class-") as folder:
        expected = strange.write(Path(folder), course, chapter)
        for name in leave_out:
            (Path(folder) / f"{name}.ipynb").unlink()
        started = time.perf_counter()
        report = grade([Path(folder)], course, seed, jobs=2, limits=strange.LIMITS)
        seconds = time.perf_counter() - started
    got = {Path(each.path).stem: strange.earned(each.status, each.score, each.max_score) for each in report.submissions}
    print(f"{len(got)} submissions in {seconds:.0f} s: {len(got) * 60 / seconds:.1f} a minute")
    print({name: (expected[name], what) for name, what in got.items() if what != expected[name]} or "all as expected")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__)
    parser.add_argument("chapters", nargs="*", default=CHAPTERS)
    parser.add_argument("--submissions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strange", action="store_true")
    parser.add_argument("--leave-out", nargs="*", default=[], help="learners of that class")
    options = parser.parse_args(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    load = f", load {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    print(f"{datetime.now(UTC):%Y-%m-%d}, {_processor()}, one of {os.cpu_count()} cores{load}; {launch.description()}")
    if options.strange:
        grade_strange(Course.find(), options.chapters[0], options.seed, options.leave_out)
        return
    processor = ProcessorTime()
    print(f"{'chapter':<24} {'class':<7} {'exercises':>9} {'once':>7} {'each':>7} {'processor':>9} {'a minute':>9}")
    for chapter in options.chapters:
        for mixed in (False, True):
            once, rest, used, report = measure(
                Course.find(), chapter, options.submissions, mixed, options.seed, processor
            )
            wrong = [result for result in report.submissions if result.status != "graded"]
            if wrong:
                raise SystemExit(f"{wrong[0].path}: {wrong[0].status} ({wrong[0].reason})")
            each, of_processor = rest / (options.submissions - 1), used / (options.submissions - 1)
            solved = len(report.submissions[0].items)
            row = f"{chapter:<24} {'mixed' if mixed else 'solved':<7} {solved:>9}"
            print(f"{row} {once:>5.1f} s {each:>5.2f} s {of_processor:>7.2f} s {60 / of_processor:>9.0f}", flush=True)


def _with_gaps(reference: Any, kind: int) -> Any:
    """The reference as handed in: 0 solved, 1 with a mistake in the first exercise, 2 with every other one unsolved."""
    notebook, stubs = copy.deepcopy(reference), outline_of(reference).stubs
    for number, cell in enumerate(cell for cell in notebook.cells if role(cell) == "solution"):
        if kind == 1 and number == 0:
            cell.source = "\n".join(f"{name} = None" for name in _names(reference, exercise_of(cell)))
        elif kind == 2 and number % 2:
            cell.source = stubs[exercise_of(cell)]
    return notebook


def _names(reference: Any, exercise: str) -> list[str]:
    tasks = (cell for cell in reference.cells if role(cell) == "task" and exercise_of(cell) == exercise)
    names: list[str] = next(tasks).metadata["minitorch"]["names"]
    return names or ["nothing"]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
